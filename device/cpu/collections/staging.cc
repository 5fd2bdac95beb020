// Staging areas: elements wait between two parts of a program, in order or by key.

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/collections/queue_elements.h"
#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"

namespace panto {
namespace {

// The common part of both kinds. All state is protected by the lock of the waiting line.
class Area : public Resource {
 public:
  Area(std::string container, std::string name, int64_t capacity, int64_t memory_limit)
      : Resource(std::move(container), std::move(name)), capacity_(capacity), memory_limit_(memory_limit) {}
  WaitingLine& line() { return line_; }

 protected:
  static int64_t bytes_of(const QueueElement& element) {
    int64_t bytes = 0;
    for (const Tensor& t : element) bytes += t.defined() ? static_cast<int64_t>(t.nbytes()) : 0;
    return bytes;
  }
  // Returns whether the element fits now. Throws ResourceExhausted if it can never fit.
  bool has_room(int64_t bytes) const {
    if (memory_limit_ > 0 && bytes > memory_limit_) {
      failf(Code::kResourceExhausted, "staging area: expected at most {} bytes in an element, got {}", memory_limit_,
            bytes);
    }
    return memory_limit_ <= 0 || bytes_ + bytes <= memory_limit_;
  }
  bool is_full(size_t elements) const { return capacity_ > 0 && static_cast<int64_t>(elements) >= capacity_; }

  int64_t bytes_ = 0;

 private:
  int64_t capacity_, memory_limit_;
  WaitingLine line_{WaitingLine::Order::kAnyThatCan};
};

class StagingArea final : public Area {
 public:
  using Area::Area;
  std::string_view kind() const noexcept override { return "StagingArea"; }

  bool put(QueueElement& element) {
    const int64_t bytes = bytes_of(element);
    if (!has_room(bytes) || is_full(elements_.size())) return false;
    bytes_ += bytes;
    elements_.push_back(std::move(element));
    return true;
  }
  bool take(QueueElement& to) {
    if (elements_.empty()) return false;
    to = std::move(elements_.front());
    elements_.pop_front();
    bytes_ -= bytes_of(to);
    return true;
  }
  bool peek(size_t index, QueueElement& to) const {
    if (index >= elements_.size()) return false;
    to = elements_[index];
    return true;
  }
  size_t size() const { return elements_.size(); }
  void clear() {
    elements_.clear();
    bytes_ = 0;
  }

 private:
  std::deque<QueueElement> elements_;
};

// Elements by key. "Any" element is always the one with the smallest key, in unordered maps, too.
class StagingMap final : public Area {
 public:
  StagingMap(std::string container, std::string name, int64_t capacity, int64_t memory_limit, bool ordered)
      : Area(std::move(container), std::move(name), capacity, memory_limit), ordered_(ordered) {}
  std::string_view kind() const noexcept override { return ordered_ ? "OrderedStagingMap" : "StagingMap"; }
  bool ordered() const { return ordered_; }

  // `of`: the number of values of an element.
  bool put(int64_t key, std::span<const int32_t> indices, const QueueElement& values, size_t of) {
    expect_indices(indices, of);
    const int64_t bytes = bytes_of(values);
    if (!has_room(bytes)) return false;
    const bool whole = indices.size() == of;
    if (whole && is_full(elements_.size())) return false;
    const auto found = incomplete_.find(key);
    QueueElement element = found == incomplete_.end() || whole ? QueueElement(of) : found->second;
    element.resize(std::max(element.size(), of));
    for (size_t i = 0; i < indices.size(); ++i) {
      Tensor& value = element[static_cast<size_t>(indices[i])];
      if (value.defined()) {
        invalid("indices: expected values that are not there yet, got {} of key {}", indices[i], key);
      }
      value = values[i];
    }
    const bool complete = std::ranges::all_of(element, [](const Tensor& t) { return t.defined(); });
    if (!complete) {
      incomplete_.insert_or_assign(key, std::move(element));
      bytes_ += bytes;
      return true;
    }
    if (!whole) incomplete_.erase(key);
    const int64_t before = whole ? 0 : bytes_of(element) - bytes;
    // An existing element is not replaced, as in TensorFlow.
    bytes_ += elements_.emplace(key, std::move(element)).second ? bytes : -before;
    return true;
  }

  bool take(int64_t key, std::span<const int32_t> indices, bool remove, QueueElement& to) {
    const auto found = elements_.find(key);
    if (found == elements_.end()) return false;
    take_from(found, indices, remove, to);
    return true;
  }
  bool take_any(std::span<const int32_t> indices, int64_t& key, QueueElement& to) {
    if (elements_.empty()) return false;
    key = elements_.begin()->first;
    take_from(elements_.begin(), indices, true, to);
    return true;
  }
  size_t size() const { return elements_.size(); }
  size_t incomplete() const { return incomplete_.size(); }
  void clear() {
    elements_.clear();
    incomplete_.clear();
    bytes_ = 0;
  }

 private:
  using Elements = std::map<int64_t, QueueElement>;

  static void expect_indices(std::span<const int32_t> indices, size_t of) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || static_cast<size_t>(indices[i]) >= of) {
        invalid("indices: expected ones in [0, {}), got {}", of, indices[i]);
      }
      if (i > 0 && indices[i] <= indices[i - 1]) {
        invalid("indices: expected ones that increase, got {} behind {}", indices[i], indices[i - 1]);
      }
    }
  }

  void take_from(Elements::iterator at, std::span<const int32_t> indices, bool remove, QueueElement& to) {
    expect_indices(indices, at->second.size());
    for (const int32_t i : indices) {
      if (at->second[static_cast<size_t>(i)].defined()) continue;
      invalid("indices: expected values that are there, got {} of key {}", i, at->first);
    }
    for (const int32_t i : indices) {
      Tensor& value = at->second[static_cast<size_t>(i)];
      to.push_back(remove ? std::exchange(value, Tensor()) : value);
    }
    if (!remove) return;
    bytes_ -= bytes_of(to);
    if (std::ranges::none_of(at->second, [](const Tensor& t) { return t.defined(); })) elements_.erase(at);
  }

  bool ordered_;
  Elements elements_;
  Elements incomplete_;
};

// ---- Kernels -------------------------------------------------------------------------------------------------------

template <class A, class... More>
std::shared_ptr<A> area_of(const KernelContext& c, More... more) {
  if (c.text("shared_name").empty() && c.call().node_name.empty()) {
    fail(Code::kInvalidArgument, "shared_name: expected one, by which a staging area is found, got none");
  }
  const Tensor handle = declared_resource(c, [&](const std::string& container, const std::string& name) {
    return std::make_shared<A>(container, name, c.integer("capacity"), c.integer("memory_limit"), more...);
  });
  return resource_as<A>(handle, "staging area");
}

std::shared_ptr<StagingArea> area_in(const KernelContext& c) { return area_of<StagingArea>(c); }

template <bool kOrdered>
std::shared_ptr<StagingMap> map_in(const KernelContext& c) {
  auto map = area_of<StagingMap>(c, kOrdered);
  if (map->ordered() != kOrdered) {
    invalid("staging area \"{}\": expected it as it was declared before, of kind {}, got another", map->name(),
            map->kind());
  }
  return map;
}

// Sets the element's values as outputs, from output `first` on.
void give(AsyncContext& c, QueueElement element, int first) {
  const auto types = c.types("dtypes");
  if (element.size() != types.size()) {
    invalid("dtypes: expected {} as in the element, got {}", element.size(), types.size());
  }
  for (size_t k = 0; k < element.size(); ++k) {
    if (element[k].dtype() != types[k]) {
      invalid("dtypes: expected the element's {}, got {}", dtype_name(element[k].dtype()), dtype_name(types[k]));
    }
    c.set_out(static_cast<int>(k) + first, view_tensor(element[k], element[k].shape()));
  }
}

QueueElement values_in(const KernelContext& c, int first) {
  QueueElement values;
  for (int i = first; i < c.num_inputs(); ++i) values.push_back(own_memory(c.in(i)));
  return values;
}
std::span<const int32_t> indices_in(const KernelContext& c, int i) {
  return {c.data<int32_t>(i), static_cast<size_t>(c.numel(i))};
}

void start_stage(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto area = area_in(*c);
  wait_in_line(c, done, area, [a = area.get(), element = values_in(*c, 0)]() mutable { return a->put(element); });
}

void start_unstage(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto area = area_in(*c);
  wait_in_line(c, done, area, [c, a = area.get()] {
    QueueElement element;
    if (!a->take(element)) return false;
    give(*c, std::move(element), 0);
    return true;
  });
}

void start_peek(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto area = area_in(*c);
  const int32_t index = *c->data<int32_t>(0);
  if (index < 0) invalid("index: expected at least 0, got {}", index);
  wait_in_line(c, done, area, [c, a = area.get(), index] {
    QueueElement element;
    if (!a->peek(static_cast<size_t>(index), element)) return false;
    give(*c, std::move(element), 0);
    return true;
  });
}

template <bool kOrdered>
void start_map_stage(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto map = map_in<kOrdered>(*c);
  wait_in_line(c, done, map, [c, m = map.get(), values = values_in(*c, 2)] {
    return m->put(*c->data<int64_t>(0), indices_in(*c, 1), values, c->types("dtypes").size());
  });
}

template <bool kOrdered, bool kRemove>
void start_map_take(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto map = map_in<kOrdered>(*c);
  wait_in_line(c, done, map, [c, m = map.get()] {
    QueueElement element;
    if (!m->take(*c->data<int64_t>(0), indices_in(*c, 1), kRemove, element)) return false;
    give(*c, std::move(element), 0);
    return true;
  });
}

template <bool kOrdered>
void start_map_take_any(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto map = map_in<kOrdered>(*c);
  wait_in_line(c, done, map, [c, m = map.get()] {
    QueueElement element;
    int64_t key = 0;
    if (!m->take_any(indices_in(*c, 0), key, element)) return false;
    const Tensor first = allocate_tensor(cpu_device(), kInt64, Shape{});
    *mutable_data<int64_t>(first) = key;
    c->set_out(0, first);
    give(*c, std::move(element), 1);
    return true;
  });
}

template <class A>
void give_size(KernelContext& c, const std::shared_ptr<A>& area, size_t (A::*size)() const) {
  const size_t count = area->line().look([&] { return (area.get()->*size)(); });
  *c.out_data<int32_t>(0) = checked_cast<int32_t>(count, "number of elements");
}
template <class A>
void clear(const std::shared_ptr<A>& area) {
  area->line().change([&] { area->clear(); });
}

void run_size(KernelContext& c) { give_size(c, area_in(c), &StagingArea::size); }
void run_clear(KernelContext& c) { clear(area_in(c)); }
template <bool kOrdered>
void run_map_size(KernelContext& c) {
  give_size(c, map_in<kOrdered>(c), &StagingMap::size);
}
template <bool kOrdered>
void run_map_incomplete(KernelContext& c) {
  give_size(c, map_in<kOrdered>(c), &StagingMap::incomplete);
}
template <bool kOrdered>
void run_map_clear(KernelContext& c) {
  clear(map_in<kOrdered>(c));
}

const CpuKernel stage_kernel("Stage", Kernel{.start = start_stage});
const CpuKernel unstage_kernel("Unstage", Kernel{.start = start_unstage});
const CpuKernel peek_kernel("StagePeek", Kernel{.start = start_peek});
const CpuKernel size_kernel("StageSize", run_size);
const CpuKernel clear_kernel("StageClear", run_clear);
const CpuKernel map_stage_kernel("MapStage", Kernel{.start = start_map_stage<false>});
const CpuKernel map_peek_kernel("MapPeek", Kernel{.start = start_map_take<false, false>});
const CpuKernel map_unstage_kernel("MapUnstage", Kernel{.start = start_map_take<false, true>});
const CpuKernel map_unstage_any_kernel("MapUnstageNoKey", Kernel{.start = start_map_take_any<false>});
const CpuKernel map_size_kernel("MapSize", run_map_size<false>);
const CpuKernel map_incomplete_kernel("MapIncompleteSize", run_map_incomplete<false>);
const CpuKernel map_clear_kernel("MapClear", run_map_clear<false>);
const CpuKernel ordered_stage_kernel("OrderedMapStage", Kernel{.start = start_map_stage<true>});
const CpuKernel ordered_peek_kernel("OrderedMapPeek", Kernel{.start = start_map_take<true, false>});
const CpuKernel ordered_unstage_kernel("OrderedMapUnstage", Kernel{.start = start_map_take<true, true>});
const CpuKernel ordered_any_kernel("OrderedMapUnstageNoKey", Kernel{.start = start_map_take_any<true>});
const CpuKernel ordered_size_kernel("OrderedMapSize", run_map_size<true>);
const CpuKernel ordered_incomplete_kernel("OrderedMapIncompleteSize", run_map_incomplete<true>);
const CpuKernel ordered_clear_kernel("OrderedMapClear", run_map_clear<true>);

}  // namespace
}  // namespace panto
