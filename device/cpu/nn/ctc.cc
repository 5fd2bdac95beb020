// Kernels of CTCLoss and CTCLossV2: forward and backward sums over all alignments, as logarithms in float64.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

double log_of_sum(double a, double b) {
  const double larger = std::max(a, b);
  return larger == kImpossible ? kImpossible : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// The labels of each sequence, checked. If the blank is the last class, labels end at the first blank; if it is the
// first class, a blank is not a valid label.
class Labels {
 public:
  Labels(const KernelContext& c, int64_t batch, int64_t classes, bool blank_first) : of_(static_cast<size_t>(batch)) {
    const int64_t *indices = c.data<int64_t>(1), count = c.numel(2);
    const int32_t* values = c.data<int32_t>(2);
    const bool collapse = c.flag("preprocess_collapse_repeated");
    std::vector<uint8_t> ended(of_.size());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices[2 * i], column = indices[2 * i + 1];
      if (row < 0 || row >= batch || column < 0) {
        invalid("labels_indices: expected rows from 0 to {} and columns from 0, got [{}, {}]", batch - 1, row, column);
      }
      if (i > 0 && (row < indices[2 * i - 2] || (row == indices[2 * i - 2] && column <= indices[2 * i - 1]))) {
        invalid("labels_indices: expected them in order, got [{}, {}] after [{}, {}]", row, column, indices[2 * i - 2],
                indices[2 * i - 1]);
      }
      const int32_t label = values[i];
      if (blank_first && (label < 1 || label >= classes)) {
        invalid("labels_values: expected 1 to {}, got {}", classes - 1, label);
      }
      if (label < 0) invalid("labels_values: expected at least 0, got {}", label);
      std::vector<int32_t>& labels = of_[static_cast<size_t>(row)];
      if (!blank_first && label >= classes - 1) {
        ended[static_cast<size_t>(row)] = 1;
      } else if (ended[static_cast<size_t>(row)] != 0) {
        invalid("labels_values: expected nothing but blanks after a blank in sequence {}, got {}", row, label);
      } else if (!collapse || labels.empty() || label != labels.back()) {
        labels.push_back(label);
      }
    }
  }
  const std::vector<int32_t>& of(int64_t row) const { return of_[static_cast<size_t>(row)]; }

 private:
  std::vector<std::vector<int32_t>> of_;
};

// The alignments of one sequence. The states are its labels with a blank before, between and behind them.
class Reading {
 public:
  Reading(const std::vector<int32_t>& labels, int32_t blank, bool merge)
      : labels_(labels), blank_(blank), merge_(merge), states_(2 * static_cast<int64_t>(labels.size()) + 1) {}

  int32_t label(int64_t state) const { return state % 2 == 0 ? blank_ : labels_[static_cast<size_t>(state / 2)]; }
  // lasts: whether a state may repeat. skips_to: whether the state two before leads to it directly, over a blank; not
  // if both have the same label and would merge.
  bool lasts(int64_t state) const { return merge_ || state % 2 == 0; }
  bool skips_to(int64_t state) const {
    return state > 1 && state % 2 == 1 && !(merge_ && label(state) == label(state - 2));
  }

  // log_p: [steps, classes]. Returns the logarithm of the probability of all alignments. Fills `ways` [steps, classes]
  // with the logarithm for the alignments that have the class at the step.
  double sum(const std::vector<double>& log_p, int64_t steps, int64_t classes, std::vector<double>& ways) {
    const auto p = [&](int64_t t, int64_t s) { return log_p[static_cast<size_t>(t * classes + label(s))]; };
    forwards_.assign(static_cast<size_t>(checked_mul(steps, states_)), kImpossible);
    backwards_ = forwards_;
    at(forwards_, 0, 0) = p(0, 0);
    if (states_ > 1) at(forwards_, 0, 1) = p(0, 1);
    for (int64_t t = 1; t < steps; ++t) {
      for (int64_t s = 0; s < states_; ++s) {
        double from = lasts(s) ? at(forwards_, t - 1, s) : kImpossible;
        if (s > 0) from = log_of_sum(from, at(forwards_, t - 1, s - 1));
        if (skips_to(s)) from = log_of_sum(from, at(forwards_, t - 1, s - 2));
        at(forwards_, t, s) = p(t, s) + from;
      }
    }
    at(backwards_, steps - 1, states_ - 1) = 0;
    if (states_ > 1) at(backwards_, steps - 1, states_ - 2) = 0;
    for (int64_t t = steps - 2; t >= 0; --t) {
      for (int64_t s = 0; s < states_; ++s) {
        double to = lasts(s) ? at(backwards_, t + 1, s) + p(t + 1, s) : kImpossible;
        if (s + 1 < states_) to = log_of_sum(to, at(backwards_, t + 1, s + 1) + p(t + 1, s + 1));
        if (s + 2 < states_ && skips_to(s + 2)) to = log_of_sum(to, at(backwards_, t + 1, s + 2) + p(t + 1, s + 2));
        at(backwards_, t, s) = to;
      }
    }
    ways.assign(log_p.size(), kImpossible);
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t s = 0; s < states_; ++s) {
        double& way = ways[static_cast<size_t>(t * classes + label(s))];
        way = log_of_sum(way, at(forwards_, t, s) + at(backwards_, t, s));
      }
    }
    const double last = at(forwards_, steps - 1, states_ - 1);
    return states_ == 1 ? last : log_of_sum(last, at(forwards_, steps - 1, states_ - 2));
  }

 private:
  double& at(std::vector<double>& table, int64_t t, int64_t s) const {
    return table[static_cast<size_t>(t * states_ + s)];
  }

  const std::vector<int32_t>& labels_;
  int32_t blank_;
  bool merge_;
  int64_t states_;
  std::vector<double> forwards_, backwards_;  // [steps, states]
};

// Log softmax of `classes` scores.
template <class T>
void log_probabilities(const T* scores, int64_t classes, double* to) {
  const double most = static_cast<double>(*std::max_element(scores, scores + classes));
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(scores[k]) - most);
  for (int64_t k = 0; k < classes; ++k) to[k] = static_cast<double>(scores[k]) - most - std::log(sum);
}

template <bool kBlankFirst>
struct CtcLoss {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t time = c.shape(0).dim(0), batch = c.shape(0).dim(1), classes = c.shape(0).dim(2);
    const int32_t last = checked_cast<int32_t>(classes - 1, "number of classes"), blank = kBlankFirst ? 0 : last;
    const int32_t* lengths = c.data<int32_t>(3);
    const Labels labels(c, batch, classes, kBlankFirst);
    const bool ignore = c.flag("ignore_longer_outputs_than_inputs"), merge = c.flag("ctc_merge_repeated");
    for (int64_t b = 0; b < batch; ++b) {
      const auto count = static_cast<int64_t>(labels.of(b).size());
      if (lengths[b] < 0 || lengths[b] > time) {
        invalid("sequence_length: expected 0 to {}, got {}", time, lengths[b]);
      }
      if (count == 0) invalid("labels_values: expected at least one label in sequence {}, got none", b);
      if (count > lengths[b] && !ignore) {
        invalid("sequence_length: expected at least {}, the number of labels of sequence {}, got {}", count, b,
                lengths[b]);
      }
    }
    const T* x = c.data<T>(0);
    T *loss = c.out_data<T>(0), *gradient = c.out_data<T>(1);
    std::fill_n(gradient, c.out_numel(1), T(0));
    cpu::parallel_ranges(
        batch, c.numel(0) * 64,
        [&](int64_t begin, int64_t end) {
          std::vector<double> log_p, ways;
          for (int64_t b = begin; b < end; ++b) {
            const int64_t steps = lengths[b];
            if (static_cast<int64_t>(labels.of(b).size()) > steps) {
              loss[b] = 0;
              continue;
            }
            log_p.resize(static_cast<size_t>(steps * classes));
            for (int64_t t = 0; t < steps; ++t) {
              log_probabilities(x + (t * batch + b) * classes, classes, log_p.data() + t * classes);
            }
            const double all = Reading(labels.of(b), blank, merge).sum(log_p, steps, classes, ways);
            loss[b] = static_cast<T>(-all);
            for (int64_t t = 0; t < steps; ++t) {
              for (int64_t k = 0; k < classes; ++k) {
                const auto i = static_cast<size_t>(t * classes + k);
                const double expected = all == kImpossible ? 0 : std::exp(ways[i] - all);
                gradient[(t * batch + b) * classes + k] = static_cast<T>(std::exp(log_p[i]) - expected);
              }
            }
          }
        },
        1);
  }
};

const CpuKernel ctc_loss_kernel("CTCLoss", types::of<"CTCLoss">{}, CtcLoss<false>{});
const CpuKernel ctc_loss_v2_kernel("CTCLossV2", [](KernelContext& c) { CtcLoss<true>::run<float>(c); });

}  // namespace
}  // namespace panto
