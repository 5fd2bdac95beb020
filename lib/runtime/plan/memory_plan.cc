// Decides where the temporaries of a part's plan live, in three stages: how long each is needed and whether it is
// visible after the run; which may overwrite which; and the offset of each in the arena.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "panto/lib/base/checked.h"
#include "panto/lib/runtime/plan/plan.h"

namespace panto {

namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kLeastLeft = int64_t{1} << 20;  // bytes; for smaller buffers, allocation costs more than it saves

// Groups of temporaries that may be views of one another or share a buffer: all live as long as the last of them.
class Lives {
 public:
  explicit Lives(const std::vector<PlanTemporary>& temporaries) : parent_(temporaries.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const PlanTemporary& t : temporaries) {
      end_.push_back(t.last_use);
      visible_.push_back(t.fetched || t.kept || t.sent ? 1 : 0);
    }
  }
  int group(int t) {
    while (up(t) != t) {
      up(t) = up(up(t));
      t = up(t);
    }
    return t;
  }
  int end(int t) { return end_[static_cast<size_t>(group(t))]; }
  // Whether one of the group may be visible after the run or to another part.
  bool visible(int t) { return visible_[static_cast<size_t>(group(t))] != 0; }
  void join(int a, int b) {
    a = group(a);
    b = group(b);
    if (a == b) return;
    up(a) = b;
    end_[static_cast<size_t>(b)] = std::max(end_[static_cast<size_t>(a)], end_[static_cast<size_t>(b)]);
    visible_[static_cast<size_t>(b)] |= visible_[static_cast<size_t>(a)];
  }

 private:
  int& up(int t) { return parent_[static_cast<size_t>(t)]; }

  std::vector<int> parent_;
  std::vector<int> end_;
  std::vector<uint8_t> visible_;
};

// One piece of the arena, for temporaries that share a buffer.
struct Block {
  int begin = 0, end = 0;  // steps
  int64_t bytes = 0;
  int64_t offset = 0;
  Device* device = nullptr;
};

class FreeMemory {
 public:
  // Takes the best fit, and the lowest of equal ones. Grows the arena if nothing fits.
  int64_t take(int64_t bytes) {
    if (const auto fit = by_size_.lower_bound({bytes, 0}); fit != by_size_.end()) {
      const auto [size, offset] = *fit;
      remove(offset, size);
      if (size > bytes) insert(offset + bytes, size - bytes);
      return offset;
    }
    int64_t offset = size_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == size_) {
        offset = last;
        remove(last, size);
      }
    }
    size_ = checked_add(offset, bytes, "bytes of the arena");
    return offset;
  }
  void give_back(int64_t offset, int64_t bytes) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        return give_back(before, size + bytes);
      }
    }
    if (next != by_offset_.end() && offset + bytes == next->first) {
      const int64_t size = next->second;
      remove(next->first, size);
      bytes += size;
    }
    insert(offset, bytes);
  }
  int64_t size() const { return size_; }

 private:
  void insert(int64_t offset, int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(int64_t offset, int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t size_ = 0;
};

bool has(const PlanStep& step, Trait trait) { return step.prepared != nullptr && step.prepared->op().has(trait); }
// Whether an input's buffer may become the output's, whichever input it is.
bool may_reuse_any_input(const PlanStep& step) {
  return has(step, Trait::kElementwise) || (step.prepared != nullptr && step.prepared->op().is(OpKind::kFusedLoop));
}

// Whether the op may keep its inputs: in a resource, in a list, or outside of the graph, such as in a rendezvous.
bool keeps_inputs(const PlanStep& step) {
  return step.prepared != nullptr &&
         (step.prepared->op().has_effect(Effect::kWrites | Effect::kAllocates | Effect::kExternal) ||
          std::ranges::any_of(step.prepared->specs(), [](const OutputSpec& s) { return s.dtype == kVariant; }));
}

class MemoryPlanner {
 public:
  MemoryPlanner(PartPlan& plan, PlanStats& stats) : plan_(plan), stats_(stats) {}

  void run() {
    find_last_uses();
    Lives lives(plan_.temporaries);
    join_views(lives);
    choose_arena(lives);
    leave_to_outputs(lives);
    std::vector<int> base(plan_.temporaries.size());
    std::iota(base.begin(), base.end(), 0);
    write_over(lives, base);
    assign_offsets(lives, base);
    find_dying();
  }

 private:
  PlanTemporary& temporary(int t) { return plan_.temporaries[static_cast<size_t>(t)]; }
  std::span<const PlanValue> inputs(const PlanStep& step) const {
    return {plan_.inputs.data() + step.first_input, step.num_inputs};
  }
  static bool is_temporary(const PlanValue& value) { return value.kind == PlanValue::Kind::kTemporary; }

  void find_last_uses() {
    for (PlanTemporary& t : plan_.temporaries) t.last_use = t.made_by;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const bool keeps = keeps_inputs(plan_.steps[s]);
      for (const PlanValue& input : inputs(plan_.steps[s])) {
        if (!is_temporary(input)) continue;
        temporary(input.index).last_use = static_cast<int>(s);
        if (keeps) temporary(input.index).kept = true;
      }
    }
    for (const PlanValue& fetch : plan_.fetches) {
      if (is_temporary(fetch)) temporary(fetch.index).fetched = true;
    }
  }

  // An op that makes its own outputs may give out views of its inputs.
  void join_views(Lives& lives) {
    for (const PlanStep& step : plan_.steps) {
      if (!step.makes_own) continue;
      for (const PlanValue& input : inputs(step)) {
        if (!is_temporary(input)) continue;
        for (uint32_t k = 0; k < step.num_outputs; ++k)
          lives.join(static_cast<int>(step.first_output + k), input.index);
      }
    }
  }

  void choose_arena(Lives& lives) {
    for (int i = 0; i < static_cast<int>(plan_.temporaries.size()); ++i) {
      PlanTemporary& t = temporary(i);
      if (plan_.steps[static_cast<size_t>(t.made_by)].makes_own || lives.visible(i) || !is_plain(t.dtype) ||
          !t.shape.fully_known()) {
        continue;
      }
      t.in_arena = true;
      const int64_t bytes =
          checked_mul(t.shape.numel(), static_cast<int64_t>(dtype_size(t.dtype)), "bytes of a temporary");
      t.bytes = std::max(kAlignment, checked_add(bytes, kAlignment - 1) / kAlignment * kAlignment);
      stats_.unshared_bytes = checked_add(stats_.unshared_bytes, t.bytes);
    }
  }

  // Visible outputs are not in the arena. If an elementwise op computes one from a large temporary in its last use, the
  // temporary is kept out of the arena too: at run time the output then takes its buffer (step.donated) instead of
  // allocating another.
  void leave_to_outputs(Lives& lives) {
    for (int s = static_cast<int>(plan_.steps.size()) - 1; s >= 0; --s) {
      const PlanStep& step = plan_.steps[static_cast<size_t>(s)];
      if (!may_reuse_any_input(step)) continue;
      const PlanTemporary& output = temporary(static_cast<int>(step.first_output));  // it may take an input
      if (output.in_arena) continue;
      const std::span<const PlanValue> in = inputs(step);
      for (size_t i = 0; i < in.size(); ++i) {
        if (!may_write_over(lives, in, i, output, s) || temporary(in[i].index).bytes < kLeastLeft) continue;
        temporary(in[i].index).in_arena = false;
        stats_.unshared_bytes -= temporary(in[i].index).bytes;
        break;
      }
    }
  }

  // Lets outputs of elementwise ops and fused loops overwrite inputs in their last use.
  void write_over(Lives& lives, std::vector<int>& base) {
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      const PlanStep& step = plan_.steps[static_cast<size_t>(s)];
      const bool any_input = may_reuse_any_input(step);
      if (!any_input && (!has(step, Trait::kReusesInput0) || step.num_outputs != 1)) continue;
      const std::span<const PlanValue> in = inputs(step);
      const size_t candidates = any_input ? in.size() : std::min<size_t>(1, in.size());
      for (uint32_t k = 0; k < step.num_outputs; ++k) {
        const int output = static_cast<int>(step.first_output + k);
        if (!temporary(output).in_arena) continue;
        for (size_t i = 0; i < candidates; ++i) {
          if (!may_write_over(lives, in, i, temporary(output), s) || taken(base, step, k, in[i].index)) continue;
          base[static_cast<size_t>(output)] = base[static_cast<size_t>(in[i].index)];
          lives.join(output, in[i].index);
          break;
        }
      }
    }
  }

  // Whether an output before k already overwrites the input.
  static bool taken(const std::vector<int>& base, const PlanStep& step, uint32_t k, int input) {
    for (uint32_t before = 0; before < k; ++before) {
      if (base[step.first_output + before] == base[static_cast<size_t>(input)]) return true;
    }
    return false;
  }

  bool may_write_over(Lives& lives, std::span<const PlanValue> in, size_t i, const PlanTemporary& output, int step) {
    if (!is_temporary(in[i])) return false;
    const PlanTemporary& input = temporary(in[i].index);
    if (!input.in_arena || input.dtype != output.dtype || !(input.shape == output.shape) ||
        input.device != output.device || lives.end(in[i].index) != step) {
      return false;
    }
    // No other input may share the memory: it could be read after the overwrite.
    return std::ranges::all_of(in, [&](const PlanValue& other) {
      return !is_temporary(other) || other.index == in[i].index || lives.group(other.index) != lives.group(in[i].index);
    });
  }

  void assign_offsets(Lives& lives, const std::vector<int>& base) {
    // A block begins with its base temporary, which comes before all that overwrite it, so blocks are in the order of
    // their first steps.
    std::vector<Block> blocks;
    std::vector<int> block_of(plan_.temporaries.size(), -1);
    for (size_t i = 0; i < plan_.temporaries.size(); ++i) {
      const PlanTemporary& t = plan_.temporaries[i];
      if (!t.in_arena) continue;
      const auto first = static_cast<size_t>(base[i]);
      if (first == i) {
        block_of[i] = static_cast<int>(blocks.size());
        blocks.push_back({.begin = t.made_by, .device = t.device});
      } else {
        block_of[i] = block_of[first];
      }
      Block& block = blocks[static_cast<size_t>(block_of[i])];
      block.end = lives.end(static_cast<int>(i));
      block.bytes = std::max(block.bytes, t.bytes);
    }
    std::map<Device*, std::vector<Block*>> by_device;
    for (Block& block : blocks) by_device[block.device].push_back(&block);
    for (const auto& [device, list] : by_device) {
      const int64_t bytes = assign(list);
      plan_.arenas.emplace_back(device, bytes);
      stats_.planned_bytes = checked_add(stats_.planned_bytes, bytes);
    }
    for (size_t i = 0; i < plan_.temporaries.size(); ++i) {
      if (block_of[i] >= 0) plan_.temporaries[i].offset = blocks[static_cast<size_t>(block_of[i])].offset;
    }
  }

  static int64_t assign(const std::vector<Block*>& list) {
    FreeMemory memory;
    std::multimap<int, const Block*> busy;  // by last step
    for (Block* block : list) {
      while (!busy.empty() && busy.begin()->first < block->begin) {
        const Block* done = busy.begin()->second;
        memory.give_back(done->offset, done->bytes);
        busy.erase(busy.begin());
      }
      block->offset = memory.take(block->bytes);
      busy.emplace(block->end, block);
    }
    return memory.size();
  }

  void find_dying() {
    std::vector<std::vector<uint32_t>> ends(plan_.steps.size());
    for (size_t i = 0; i < plan_.temporaries.size(); ++i) {
      const PlanTemporary& t = plan_.temporaries[i];
      if (!t.in_arena && !t.fetched) ends[static_cast<size_t>(t.last_use)].push_back(static_cast<uint32_t>(i));
    }
    stats_.steps += static_cast<int>(plan_.steps.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      PlanStep& step = plan_.steps[s];
      step.first_dropped = static_cast<uint32_t>(plan_.dropped.size());
      step.num_dropped = static_cast<uint32_t>(ends[s].size());
      plan_.dropped.insert(plan_.dropped.end(), ends[s].begin(), ends[s].end());
      const std::span<const PlanValue> in = inputs(step);
      for (size_t i = 0; i < std::min<size_t>(in.size(), 64); ++i) {
        if (!is_temporary(in[i])) continue;
        const PlanTemporary& t = temporary(in[i].index);
        if (!t.in_arena && !t.fetched && t.last_use == static_cast<int>(s)) step.donated |= uint64_t{1} << i;
      }
      bool dynamic = false;
      for (uint32_t k = 0; k < step.num_outputs; ++k) {
        dynamic = dynamic || !temporary(static_cast<int>(step.first_output + k)).in_arena;
      }
      if (dynamic) ++stats_.dynamic_steps;
    }
  }

  PartPlan& plan_;
  PlanStats& stats_;
};

}  // namespace

void donate_feeds(Plan& plan) {
  if (plan.parts.size() != 1) return;  // parts may run at the same time
  PartPlan& part = plan.parts[0];
  std::vector<int> last_use(plan.feeds.size(), -1);
  const auto inputs = [&](const PlanStep& step) {
    return std::span(part.inputs).subspan(step.first_input, step.num_inputs);
  };
  for (size_t s = 0; s < part.steps.size(); ++s) {
    for (const PlanValue& v : inputs(part.steps[s])) {
      if (v.kind == PlanValue::Kind::kFeed) last_use[static_cast<size_t>(v.index)] = static_cast<int>(s);
    }
  }
  for (const PlanFetch& fetch : plan.fetches) {
    if (fetch.value.kind == PlanValue::Kind::kFeed) last_use[static_cast<size_t>(fetch.value.index)] = -1;
  }
  for (size_t s = 0; s < part.steps.size(); ++s) {
    PlanStep& step = part.steps[s];
    const std::span<const PlanValue> in = inputs(step);
    for (size_t i = 0; step.kind == PlanStep::Kind::kCall && i < std::min<size_t>(in.size(), 64); ++i) {
      if (in[i].kind != PlanValue::Kind::kFeed) continue;
      const auto feed = static_cast<size_t>(in[i].index);
      const auto same = [&](const PlanValue& v) { return v.kind == PlanValue::Kind::kFeed && v.index == in[i].index; };
      if (plan.feeds[feed].given_away && last_use[feed] == static_cast<int>(s) &&
          std::ranges::count_if(in, same) == 1) {
        step.donated |= uint64_t{1} << i;
      }
    }
  }
}

void plan_memory(PartPlan& plan, PlanStats& stats) { MemoryPlanner(plan, stats).run(); }

}  // namespace panto
