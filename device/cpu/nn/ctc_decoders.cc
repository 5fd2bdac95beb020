// Kernels of CTC decoders. The beam search follows TensorFlow's (tensorflow/core/util/ctc), also in which of equally
// probable prefixes it keeps.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using Labels = std::vector<int64_t>;

// Sets outputs `path`, `lists` + path and 2 * lists + path, a sparse tensor of the labels decoded in each sequence.
void set_labels(KernelContext& c, int path, int lists, const std::vector<const Labels*>& sequences) {
  int64_t count = 0, longest = 0;
  for (const Labels* labels : sequences) {
    const auto size = static_cast<int64_t>(labels->size());
    count = checked_add(count, size);
    longest = std::max(longest, size);
  }
  Tensor indices = allocate_tensor(c.device(), kInt64, Shape{count, 2});
  Tensor values = allocate_tensor(c.device(), kInt64, Shape{count});
  Tensor shape = allocate_tensor(c.device(), kInt64, Shape{2});
  auto *at = mutable_data<int64_t>(indices), *to = mutable_data<int64_t>(values);
  for (size_t b = 0; b < sequences.size(); ++b) {
    for (size_t k = 0; k < sequences[b]->size(); ++k) {
      *at++ = static_cast<int64_t>(b);
      *at++ = static_cast<int64_t>(k);
      *to++ = (*sequences[b])[k];
    }
  }
  mutable_data<int64_t>(shape)[0] = static_cast<int64_t>(sequences.size());
  mutable_data<int64_t>(shape)[1] = longest;
  c.set_out(path, std::move(indices));
  c.set_out(lists + path, std::move(values));
  c.set_out(2 * lists + path, std::move(shape));
}

// The length of each sequence. Negative lengths count as 0, as in TensorFlow.
std::vector<int64_t> checked_lengths(const KernelContext& c) {
  const int64_t time = c.shape(0).dim(0);
  const auto* given = c.data<int32_t>(1);
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < c.numel(1); ++b) {
    if (given[b] > time) invalid("sequence_length: expected at most {}, got {}", time, given[b]);
    lengths.push_back(std::max(given[b], 0));
  }
  return lengths;
}

struct Greedy {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t batch = c.shape(0).dim(1), classes = c.shape(0).dim(2);
    const std::vector<int64_t> lengths = checked_lengths(c);
    const int64_t asked = c.integer("blank_index"), blank = asked < 0 ? asked + classes : asked;
    const bool merge = c.flag("merge_repeated");
    const T* x = c.data<T>(0);
    Tensor scores = allocate_tensor(c.device(), dtype_of<T>, Shape{batch, 1});
    T* score = mutable_data<T>(scores);
    std::vector<Labels> found(lengths.size());
    cpu::parallel_ranges(
        batch, c.numel(0) * static_cast<int64_t>(sizeof(T)),
        [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b) {
            T sum = 0;
            int64_t before = -1;
            for (int64_t t = 0; t < lengths[static_cast<size_t>(b)]; ++t) {
              const T* row = x + (t * batch + b) * classes;
              int64_t best = 0;
              for (int64_t k = 1; k < classes; ++k) {
                if (row[k] > row[best]) best = k;
              }
              sum -= row[best];
              if (best != blank && !(merge && best == before)) found[static_cast<size_t>(b)].push_back(best);
              before = best;
            }
            score[b] = sum;
          }
        },
        1);
    std::vector<const Labels*> sequences;
    for (const Labels& labels : found) sequences.push_back(&labels);
    set_labels(c, 0, 1, sequences);
    c.set_out(3, std::move(scores));
  }
};

// Probabilities are stored as logarithms.
template <class T>
constexpr T kImpossible = -std::numeric_limits<T>::infinity();

template <class T>
T log_of_sum(T a, T b) {
  const T larger = std::max(a, b);
  return larger == kImpossible<T> ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// The probability that some labels have been read: in total, with a blank as the last step, or with the last label.
template <class T>
struct Probability {
  T total = kImpossible<T>, blank = kImpossible<T>, label = kImpossible<T>;
};

// A prefix of labels: the parent's prefix and one more label.
template <class T>
struct Beginning {
  Beginning* parent = nullptr;
  int64_t label = -1;
  Probability<T> before = {}, now = {};  // at the previous step, at this one
  bool after_kept = false;               // whether the parent was kept at the previous step
  std::map<int64_t, Beginning*> children = {};

  bool kept() const { return now.total != kImpossible<T>; }
};

// Keeps the `limit` most probable prefixes that are pushed.
template <class T>
class Best {
 public:
  using Item = Beginning<T>*;
  explicit Best(size_t limit) : limit_(limit) {}
  size_t size() const { return items_.size(); }
  void push(Item item) {
    if (heap_) {
      if (!above(item, items_.front())) return;
      items_.push_back(item);
      std::ranges::push_heap(items_, above);
      drop();
      return;
    }
    items_.push_back(item);
    if (bottom_first_ && !above(item, items_.front())) std::swap(items_.front(), items_.back());
    if (items_.size() <= limit_) return;
    std::ranges::make_heap(items_, above);
    drop();
    heap_ = true;
  }
  // Returns the least probable item. There must be one.
  Item bottom() {
    if (!heap_ && !bottom_first_) {
      size_t least = 0;
      for (size_t i = 1; i < items_.size(); ++i) {
        if (above(items_[least], items_[i])) least = i;
      }
      std::swap(items_.front(), items_[least]);
      bottom_first_ = true;
    }
    return items_.front();
  }
  const std::vector<Item>& items() const { return items_; }
  // Removes all items and returns them, the most probable first.
  std::vector<Item> take() {
    if (heap_) {
      std::ranges::sort_heap(items_, above);
    } else {
      std::ranges::stable_sort(items_, above);
    }
    heap_ = bottom_first_ = false;
    return std::exchange(items_, {});
  }

 private:
  static bool above(Item a, Item b) { return a->now.total > b->now.total; }
  void drop() {
    std::ranges::pop_heap(items_, above);
    items_.pop_back();
  }

  size_t limit_;
  std::vector<Item> items_;
  bool heap_ = false, bottom_first_ = false;
};

template <class T>
class BeamSearch {
 public:
  BeamSearch(int64_t classes, int64_t width) : classes_(classes), width_(static_cast<size_t>(width)), beam_(width_) {
    nodes_.emplace_back().now = {.total = 0, .blank = 0, .label = kImpossible<T>};
    beam_.push(&nodes_.front());
  }

  void step(const T* scores) {
    const T most = *std::max_element(scores, scores + classes_);
    T sum = 0;
    for (int64_t k = 0; k < classes_; ++k) sum += std::exp(scores[k] - most);
    const T scale = most + std::log(sum);
    const std::vector<Beginning<T>*> beam = beam_.take();
    for (Beginning<T>* b : beam) {
      b->before = b->now;
      b->after_kept = b->parent != nullptr && b->parent->kept();
    }
    for (Beginning<T>* b : beam) {
      if (b->parent != nullptr) {
        if (b->after_kept) b->now.label = log_of_sum(b->now.label, up_to(*b->parent, b->label));
        b->now.label += scores[b->label] - scale;
      }
      b->now.blank = b->before.total + scores[classes_ - 1] - scale;
      b->now.total = log_of_sum(b->now.blank, b->now.label);
      beam_.push(b);
    }
    for (Beginning<T>* b : beam) {
      if (!is_candidate(b->before.total)) continue;
      for (int64_t label = 0; label + 1 < classes_; ++label) {
        const auto found = b->children.find(label);
        if (found != b->children.end() && found->second->kept()) continue;
        const T total = scores[label] - scale + up_to(*b, label);
        if (!is_candidate(total)) {
          if (found != b->children.end()) found->second->before = {};  // one that just dropped out has no successors
          continue;
        }
        Beginning<T>*& child = b->children[label];
        if (child == nullptr) child = &nodes_.emplace_back(Beginning<T>{.parent = b, .label = label});
        child->now = {.total = total, .blank = kImpossible<T>, .label = total};
        if (beam_.size() == width_) beam_.bottom()->now = {};  // the least probable prefix drops out
        beam_.push(child);
      }
    }
  }

  // Returns the `count` most probable prefixes, the best first; fewer if there are fewer.
  std::vector<Beginning<T>*> best(int64_t count) {
    Best<T> top(static_cast<size_t>(count));
    for (Beginning<T>* b : beam_.items()) top.push(b);
    return top.take();
  }

 private:
  // The probability, at the previous step, of the prefixes that `label` may follow: equal labels need a blank between
  // them.
  static T up_to(const Beginning<T>& b, int64_t label) { return b.label == label ? b.before.blank : b.before.total; }
  bool is_candidate(T total) {
    return total > kImpossible<T> && (beam_.size() < width_ || total > beam_.bottom()->now.total);
  }

  int64_t classes_;
  size_t width_;
  std::deque<Beginning<T>> nodes_;
  Best<T> beam_;
};

template <class T>
Labels labels_of(const Beginning<T>* b, bool merge) {
  Labels labels;
  for (int64_t before = -1; b->parent != nullptr; b = b->parent) {
    if (!merge || b->label != before) labels.push_back(b->label);
    before = b->label;
  }
  std::ranges::reverse(labels);
  return labels;
}

struct Beam {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t batch = c.shape(0).dim(1), classes = c.shape(0).dim(2), width = c.integer("beam_width"),
                  paths = c.integer("top_paths");
    const std::vector<int64_t> lengths = checked_lengths(c);
    const bool merge = c.flag("merge_repeated");
    const T* x = c.data<T>(0);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t t = 0; t < lengths[static_cast<size_t>(b)]; ++t) {
        const T* scores = x + (t * batch + b) * classes;
        const T* wrong = std::find_if(scores, scores + classes,
                                      [](T v) { return std::isnan(v) || v == std::numeric_limits<T>::infinity(); });
        if (wrong != scores + classes) invalid("inputs: expected numbers below infinity, got {}", *wrong);
        if (*std::max_element(scores, scores + classes) == kImpossible<T>) {
          invalid("inputs: expected a class that is possible at step {} of sequence {}, got none", t, b);
        }
      }
    }
    Tensor probabilities = allocate_tensor(c.device(), dtype_of<T>, Shape{batch, paths});
    T* probability = mutable_data<T>(probabilities);
    std::vector<std::vector<Labels>> found(lengths.size());
    constexpr int64_t kWork = 64;  // per class and prefix
    const double work = static_cast<double>(c.numel(0)) * static_cast<double>(std::min<int64_t>(width, 1000)) * kWork;
    cpu::parallel_ranges(
        batch, static_cast<int64_t>(std::min(work, 1e18)),
        [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b) {
            BeamSearch<T> search(classes, width);
            for (int64_t t = 0; t < lengths[static_cast<size_t>(b)]; ++t) search.step(x + (t * batch + b) * classes);
            for (const Beginning<T>* best : search.best(paths)) {
              std::vector<Labels>& all = found[static_cast<size_t>(b)];
              probability[b * paths + static_cast<int64_t>(all.size())] = best->now.total;
              all.push_back(labels_of(best, merge));
            }
          }
        },
        1);
    for (size_t b = 0; b < found.size(); ++b) {
      const auto count = static_cast<int64_t>(found[b].size());
      if (count < paths) invalid("top_paths: expected at most {} for sequence {}, got {}", count, b, paths);
    }
    for (int64_t p = 0; p < paths; ++p) {
      std::vector<const Labels*> sequences;
      for (const std::vector<Labels>& all : found) sequences.push_back(&all[static_cast<size_t>(p)]);
      set_labels(c, static_cast<int>(p), static_cast<int>(paths), sequences);
    }
    c.set_out(static_cast<int>(3 * paths), std::move(probabilities));
  }
};

const CpuKernel greedy_kernel("CTCGreedyDecoder", types::of<"CTCGreedyDecoder">{}, Greedy{});
const CpuKernel beam_kernel("CTCBeamSearchDecoder", types::of<"CTCBeamSearchDecoder">{}, Beam{});

}  // namespace
}  // namespace panto
