// Accumulators, to which the ops ...Accumulator... add gradients and from which they take sums or means.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/cpu/collections/declared.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/collections/handle.h"

namespace panto {
namespace {

constexpr DTypeSet kTypes = dtypes::kFloating;

template <class F>
void with_floating(DType dtype, const F& f) {
  switch (dtype) {
    case kFloat16: return f(Half());
    case kBFloat16: return f(BFloat16());
    case kFloat32: return f(float());
    case kFloat64: return f(double());
    default: failf(Code::kUnimplemented, "dtype: expected a floating one, got {}", dtype_name(dtype));
  }
}

template <class T>
void add(T* to, const T* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = convert<T>(convert<Compute<T>>(to[i]) + convert<Compute<T>>(from[i]));
}
template <class T>
void divide(T* values, int64_t count, int64_t by) {
  const auto divisor = convert<Compute<T>>(convert<T>(static_cast<double>(by)));
  for (int64_t i = 0; i < count; ++i) values[i] = convert<T>(convert<Compute<T>>(values[i]) / divisor);
}

Tensor copy_of(const Tensor& t) {
  const Tensor copy = allocate_tensor(cpu_device(), t.dtype(), t.shape());
  if (t.nbytes() > 0) std::memcpy(copy.impl()->data, t.impl()->data, t.nbytes());
  return copy;
}

struct Form {
  bool sparse;
  DType dtype;
  PartialShape shape;
  bool mean;
  bool operator==(const Form&) const = default;
};

// All state is protected by the lock of the waiting line.
class Accumulator : public Resource {
 public:
  Accumulator(std::string container, std::string name, Form form)
      : Resource(std::move(container), std::move(name)), form_(std::move(form)) {}
  std::string_view kind() const noexcept override {
    return form_.sparse ? "SparseConditionalAccumulator" : "ConditionalAccumulator";
  }
  const Form& form() const { return form_; }
  WaitingLine& line() { return line_; }
  int64_t count() const {
    return line_.look([this] { return count_; });
  }
  void set_step(int64_t step) {
    line_.change([&] {
      if (step < step_) log_warn(fmt::format("accumulator: expected a step of at least {}, got {}", step_, step));
      step_ = step;
    });
  }
  // Calls `add` unless the gradient is older than the accumulator's step.
  template <class Add>
  void apply(int64_t step, const Add& add) {
    line_.change([&] {
      if (step < step_) return;
      add();
      ++count_;
    });
  }
  // Calls `give` if there are at least `required` gradients; returns whether there were.
  template <class Give>
  bool take(int64_t required, const Give& give) {
    if (count_ < required) return false;
    ++step_;
    give();
    count_ = 0;
    return true;
  }

 protected:
  Form form_;
  WaitingLine line_{WaitingLine::Order::kFirstComeFirstServed};
  int64_t count_ = 0;
  int64_t step_ = 0;
};

class DenseAccumulator final : public Accumulator {
 public:
  using Accumulator::Accumulator;
  void add_gradient(const Tensor& gradient) {
    const PartialShape& wanted = count_ > 0 ? sum_.partial_shape() : form_.shape;
    if (!wanted.compatible_with(gradient.shape())) {
      invalid("gradient: expected shape {}, got {}", wanted.to_string(), gradient.shape().to_string());
    }
    if (count_ == 0) return void(sum_ = copy_of(gradient));
    with_floating(form_.dtype, [&]<class T>(T) {
      add(mutable_data<T>(sum_), static_cast<const T*>(gradient.impl()->data), sum_.numel());
    });
  }
  Tensor taken() {
    if (form_.mean) {
      with_floating(form_.dtype, [&]<class T>(T) { divide(mutable_data<T>(sum_), sum_.numel(), count_); });
    }
    return std::exchange(sum_, Tensor());
  }

 private:
  Tensor sum_;
};

// The sum of sparse gradients: rows and their row numbers. Row numbers are assumed to increase, in gradients and in the
// sum, as in TensorFlow: otherwise rows with the same number are not merged.
class SparseAccumulator final : public Accumulator {
 public:
  using Accumulator::Accumulator;

  void add_gradient(const Tensor& indices, const Tensor& rows, const Tensor* shape) {
    check(indices, rows, shape);
    const auto numbers = indices.data<int64_t>();
    if (count_ == 0) {
      numbers_.assign(numbers.begin(), numbers.end());
      counts_.assign(numbers.size(), 1);
      rows_ = copy_of(rows);
      return;
    }
    with_floating(form_.dtype, [&]<class T>(T) { merge<T>(numbers, rows); });
  }

  struct Taken {
    Tensor indices, values, shape;
  };
  Taken taken() {
    Taken t{allocate_tensor(cpu_device(), kInt64, Shape{static_cast<int64_t>(numbers_.size())}), rows_,
            allocate_tensor(cpu_device(), kInt64, Shape{rows_.rank()})};
    if (form_.mean) {
      with_floating(form_.dtype, [&]<class T>(T) {
        const int64_t width = row_width(rows_);
        for (size_t i = 0; i < counts_.size(); ++i) {
          divide(mutable_data<T>(rows_) + static_cast<int64_t>(i) * width, width, counts_[i]);
        }
      });
    }
    std::ranges::copy(numbers_, mutable_data<int64_t>(t.indices));
    std::ranges::copy(rows_.shape().dims(), mutable_data<int64_t>(t.shape));
    mutable_data<int64_t>(t.shape)[0] = form_.shape.rank() > 0 ? form_.shape.dims()[0] : -1;
    rows_ = Tensor();
    return t;
  }

 private:
  static int64_t row_width(const Tensor& rows) {
    int64_t width = 1;
    for (const int64_t d : rows.shape().dims().subspan(1)) width *= d;
    return width;
  }

  void check(const Tensor& indices, const Tensor& rows, const Tensor* shape) const {
    const auto fits = [](int64_t declared, int64_t actual) { return declared < 0 || declared == actual; };
    const std::span<const int64_t> declared = form_.shape.dims();
    if (shape != nullptr) {
      const auto given = shape->data<int64_t>();
      bool good = declared.size() <= given.size();
      for (size_t k = 0; good && k < declared.size(); ++k) good = fits(declared[k], given[k]);
      if (!good) invalid("gradient_shape: expected one that fits {}, got another", form_.shape.to_string());
    }
    for (const int64_t number : indices.data<int64_t>()) {
      if (number >= 0 && (declared.empty() || declared[0] < 0 || number < declared[0])) continue;
      invalid("gradient_indices: expected rows of shape {}, got row {}", form_.shape.to_string(), number);
    }
    const std::span<const int64_t> dims = rows.shape().dims();
    const std::span<const int64_t> wanted = count_ > 0 ? rows_.shape().dims() : declared;
    bool good = count_ > 0 ? dims.size() == wanted.size() : dims.size() >= wanted.size();
    for (size_t k = 1; good && k < wanted.size(); ++k) good = fits(wanted[k], dims[k]);
    if (!good) {
      invalid("gradient_values: expected rows as in shape {}, got shape {}",
              count_ > 0 ? rows_.shape().to_string() : form_.shape.to_string(), rows.shape().to_string());
    }
  }

  template <class T>
  void merge(std::span<const int64_t> numbers, const Tensor& rows) {
    const int64_t width = row_width(rows);
    const T* ours = static_cast<const T*>(rows_.impl()->data);
    const T* theirs = static_cast<const T*>(rows.impl()->data);
    std::vector<int64_t> merged_numbers, merged_counts;
    std::vector<T> values;
    size_t i = 0, j = 0;
    while (i < numbers_.size() || j < numbers.size()) {
      const bool from_ours = j == numbers.size() || (i < numbers_.size() && numbers_[i] <= numbers[j]);
      const bool from_theirs = i == numbers_.size() || (j < numbers.size() && numbers[j] <= numbers_[i]);
      merged_numbers.push_back(from_ours ? numbers_[i] : numbers[j]);
      merged_counts.push_back((from_ours ? counts_[i] : 0) + (from_theirs ? 1 : 0));
      const T* row = from_ours ? ours : theirs;
      values.insert(values.end(), row, row + width);
      if (from_ours && from_theirs) add(values.data() + values.size() - width, theirs, width);
      if (from_ours) {
        ++i;
        ours += width;
      }
      if (from_theirs) {
        ++j;
        theirs += width;
      }
    }
    std::vector<int64_t> dims(rows.shape().dims().begin(), rows.shape().dims().end());
    dims[0] = static_cast<int64_t>(merged_numbers.size());
    rows_ = allocate_tensor(cpu_device(), form_.dtype, Shape(dims));
    std::ranges::copy(values, mutable_data<T>(rows_));
    numbers_ = std::move(merged_numbers);
    counts_ = std::move(merged_counts);
  }

  std::vector<int64_t> numbers_, counts_;
  Tensor rows_;
};

template <class A>
void run_make(KernelContext& c) {
  const Form form{std::is_same_v<A, SparseAccumulator>, c.type("dtype"), c.shape_attr("shape"),
                  c.text("reduction_type") == "MEAN"};
  Tensor out = declared_resource(c, [&](const std::string& container, const std::string& name) {
    return std::make_shared<A>(container, name, form);
  });
  const auto accumulator = resource_as<Accumulator>(out, "accumulator");
  if (!(accumulator->form() == form)) {
    invalid("accumulator \"{}\": expected it as it was declared before, a {} of {}{}, got another", accumulator->name(),
            accumulator->kind(), dtype_name(accumulator->form().dtype), accumulator->form().shape.to_string());
  }
  c.set_out(0, std::move(out));
}

template <class A>
std::shared_ptr<A> accumulator_in(const KernelContext& c) {
  auto accumulator =
      resource_as<A>(c.in(0), std::is_same_v<A, SparseAccumulator> ? "accumulator of rows" : "accumulator of tensors");
  if (accumulator->form().dtype != c.type("dtype")) {
    invalid("dtype: expected the accumulator's {}, got {}", dtype_name(accumulator->form().dtype),
            dtype_name(c.type("dtype")));
  }
  return accumulator;
}

void run_apply(KernelContext& c) {
  const auto accumulator = accumulator_in<DenseAccumulator>(c);
  accumulator->apply(*c.data<int64_t>(1), [&] { accumulator->add_gradient(c.in(2)); });
}

void run_apply_rows(KernelContext& c) {
  const auto accumulator = accumulator_in<SparseAccumulator>(c);
  const Tensor* shape = c.flag("has_known_shape") ? &c.in(4) : nullptr;
  accumulator->apply(*c.data<int64_t>(1), [&] { accumulator->add_gradient(c.in(2), c.in(3), shape); });
}

int64_t required_in(const KernelContext& c) {
  const int64_t required = *c.data<int32_t>(1);
  if (required <= 0) invalid("num_required: expected at least 1, got {}", required);
  return required;
}

void start_take(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto accumulator = accumulator_in<DenseAccumulator>(*c);
  wait_in_line(c, done, accumulator, [c, a = accumulator.get(), required = required_in(*c)] {
    return a->take(required, [&] { c->set_out(0, a->taken()); });
  });
}

void start_take_rows(const std::shared_ptr<AsyncContext>& c, Done done) {
  const auto accumulator = accumulator_in<SparseAccumulator>(*c);
  wait_in_line(c, done, accumulator, [c, a = accumulator.get(), required = required_in(*c)] {
    return a->take(required, [&] {
      SparseAccumulator::Taken t = a->taken();
      c->set_out(0, std::move(t.indices));
      c->set_out(1, std::move(t.values));
      c->set_out(2, std::move(t.shape));
    });
  });
}

void run_set_step(KernelContext& c) { resource_as<Accumulator>(c.in(0), "accumulator")->set_step(*c.data<int64_t>(1)); }
void run_count(KernelContext& c) {
  *c.out_data<int32_t>(0) =
      checked_cast<int32_t>(resource_as<Accumulator>(c.in(0), "accumulator")->count(), "number of gradients");
}

const CpuKernel make_accumulator_kernel("ConditionalAccumulator", run_make<DenseAccumulator>);
const CpuKernel make_sparse_kernel("SparseConditionalAccumulator", run_make<SparseAccumulator>);
const CpuKernel apply_kernel("AccumulatorApplyGradient", kTypes, run_apply);
const CpuKernel apply_rows_kernel("SparseAccumulatorApplyGradient", kTypes, run_apply_rows);
const CpuKernel take_kernel("AccumulatorTakeGradient", kTypes, Kernel{.start = start_take});
const CpuKernel take_rows_kernel("SparseAccumulatorTakeGradient", kTypes, Kernel{.start = start_take_rows});
const CpuKernel set_step_kernel("AccumulatorSetGlobalStep", run_set_step);
const CpuKernel count_kernel("AccumulatorNumAccumulated", run_count);

}  // namespace
}  // namespace panto
