// A contestant of `./dev bench peers`: a program that runs the suite's workloads with one library. race.py writes
// requests to its standard input, and it answers each with one line on standard output:
//
//   prepare WORK MODE INPUT...   "ready PART ; PART...", which describes the output; or "none"
//   measure SECONDS              "times T...": seconds per run, one for each batch of runs
//   turns SECONDS MODE           "ratios R...": time in another mode divided by that of the prepared one; batches of
//                                both alternate, so that a machine that becomes slower is slow for both; or "none"
//
// A PART describes one array of the output: COUNT MEAN MAGNITUDE WEIGHTED VALUE... These are the number of elements,
// their mean, the mean of their magnitudes, a weighted mean, and the elements at a few thousand places.
//
// An INPUT is ROWSxCOLUMNS for numbers in [0, 1), ROWSxCOLUMNS:LOW:HIGH for others, COUNT:class:N for class numbers. A
// further :FORM says what the numbers are, or what the dimensions mean, for libraries with another order:
//
//   nhwc nchw ndhwc           of images and volumes; hwio hwio_nchw depthwise dhwio: of the filters that go with them
//   complex                   the last dimension is a real and an imaginary part
//   symmetric definite        matrices M made (M + M') / 2, or M M' / n + 1
//   sorted bool text          for classes: sorted; zero or not; "item 17" for 17
//   entries                   for classes: COUNT places in an N x N matrix, sorted by row
//
// After that :DTYPE gives the type if it is not float32: bfloat16 and float16, rounded; quint8, the integer part, with
// the range 0 to 255 (int8 or uint8 in a library without quantized types).
//
// This header includes no library: each contestant is compiled against its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace peers {

// The suite's numbers, in [0, 1) and the same in every language: number `i` of the generator SplitMix64 (Steele, Lea
// and Flood 2014), started at a place that depends on the seed. Random, as weights of deep networks must not be
// regular.
inline double number(int64_t i, int seed) {
  uint64_t z = ((static_cast<uint64_t>(seed) << 40) + static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

struct Input {
  std::vector<int64_t> shape;
  std::vector<float> floats;
  std::vector<int32_t> classes;  // instead of floats
  std::vector<std::string> texts() const {
    std::vector<std::string> result;
    for (const int32_t c : classes) result.push_back("item " + std::to_string(c));
    return result;
  }
  std::string text;   // as in the request
  std::string form;   // the FORM; "" if there is none
  std::string dtype;  // "" for float32 and for classes
};

// Replaces each n x n matrix M of `floats` by (M + M') / 2, or by M M' / n + 1 if `definite`.
inline void make_symmetric(std::vector<float>& floats, int64_t n, bool definite) {
  const auto size = static_cast<size_t>(n);
  for (size_t first = 0; first < floats.size(); first += size * size) {
    const std::vector<float> m(floats.begin() + static_cast<int64_t>(first),
                               floats.begin() + static_cast<int64_t>(first + size * size));
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < size; ++j) {
        double sum = 0;
        if (definite) {
          for (size_t k = 0; k < size; ++k) sum += static_cast<double>(m[i * size + k]) * m[j * size + k];
          sum = sum / static_cast<double>(n) + (i == j ? 1.0 : 0.0);
        } else {
          sum = (static_cast<double>(m[i * size + j]) + m[j * size + i]) / 2;
        }
        floats[first + i * size + j] = static_cast<float>(sum);
      }
    }
  }
}

inline Input input(const std::string& text, int seed) {
  Input result;
  result.text = text;
  std::istringstream parts(text);
  std::string dims, low, high;
  std::getline(parts, dims, ':');
  std::getline(parts, low, ':');
  std::getline(parts, high, ':');
  std::getline(parts, result.form, ':');
  std::getline(parts, result.dtype, ':');
  int64_t count = 1;
  std::istringstream numbers(dims);
  for (std::string dim; std::getline(numbers, dim, 'x');) {
    result.shape.push_back(std::stoll(dim));
    count *= result.shape.back();
  }
  if (low == "class") {
    const double n = std::stod(high);
    const bool entries = result.form == "entries";
    if (entries) result.shape.push_back(2);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t in_order = i * static_cast<int64_t>(n) / count;
      if (entries || result.form == "sorted") result.classes.push_back(static_cast<int32_t>(in_order));
      if (result.form != "sorted") result.classes.push_back(static_cast<int32_t>(number(i, seed) * n));
    }
    return result;
  }
  const double from = low.empty() ? 0.0 : std::stod(low), to = high.empty() ? 1.0 : std::stod(high);
  result.floats.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    result.floats[static_cast<size_t>(i)] = static_cast<float>(from + (to - from) * number(i, seed));
  }
  const bool definite = result.form == "definite";
  if (definite || result.form == "symmetric") make_symmetric(result.floats, result.shape.back(), definite);
  return result;
}

// The arrays that a run returns.
using Parts = std::vector<std::vector<float>>;

struct Workload {
  std::function<Parts()> output;      // runs once and returns the output
  std::function<void(int64_t)> runs;  // runs n times; the last run is complete when it returns
};

// Tells the compiler that `value` is used.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

inline Parts parts(std::vector<float> one) {
  Parts result;
  result.push_back(std::move(one));
  return result;
}
inline Parts parts(Parts several) { return several; }

// Applies `host` to each result.
template <class T, class Host>
Parts each(const std::vector<T>& results, const Host& host) {
  Parts all;
  for (const T& result : results) all.push_back(host(result));
  return all;
}

// Runs three training steps. Returns their losses, then the change of each parameter in the first step (later steps
// amplify rounding errors in deep networks). `values()` returns the parameters, `step()` the loss.
template <class Step, class Values>
Parts three_steps(const Step& step, const Values& values) {
  const Parts before = values();
  Parts result(1);
  result[0].push_back(step());
  const Parts after = values();
  for (int i = 1; i < 3; ++i) result[0].push_back(step());
  for (size_t p = 0; p < before.size(); ++p) {
    std::vector<float> change(before[p].size());
    for (size_t i = 0; i < change.size(); ++i) change[i] = after[p][i] - before[p][i];
    result.push_back(std::move(change));
  }
  return result;
}

// A workload that calls `f`; `host` converts its result to one or several vectors. The loop is here so that `f` is
// inlined into it.
template <class F, class Host>
Workload calls(F f, Host host) {
  return {.output = [f, host]() mutable { return parts(host(f())); },
          .runs =
              [f](int64_t count) mutable {
                for (int64_t i = 0; i < count; ++i) keep(f());
              }};
}

// A contestant's works by name. Library::make(MODE, work, inputs) returns the workload that runs `work`, a function of
// tensors, in a mode, or nullopt if the library lacks the mode.
template <class Library>
class Works {
 public:
  using Tensor = typename Library::Tensor;
  using Tensors = std::vector<Tensor>;

  // `f` takes one tensor, two or three, or a vector of all inputs.
  template <class F>
  void add(const std::string& name, F f) {
    const auto work = [f](const Tensors& x) {
      if constexpr (std::is_invocable_v<F, Tensor>) {
        return f(x[0]);
      } else if constexpr (std::is_invocable_v<F, Tensor, Tensor>) {
        return f(x[0], x[1]);
      } else if constexpr (std::is_invocable_v<F, Tensor, Tensor, Tensor>) {
        return f(x[0], x[1], x[2]);
      } else {
        return f(x);
      }
    };
    makers_[name] = [work](const std::string& mode, const std::vector<Input>& inputs) {
      Tensors x;
      for (const Input& i : inputs) x.push_back(Library::tensor(i));
      return Library::make(mode, work, std::move(x));
    };
  }

  std::optional<Workload> make(const std::string& work, const std::string& mode, const std::vector<Input>& in) const {
    const auto found = makers_.find(work);
    if (found == makers_.end()) return std::nullopt;
    return found->second(mode, in);
  }

 private:
  std::map<std::string, std::function<std::optional<Workload>(const std::string&, const std::vector<Input>&)>> makers_;
};

// Reduces outputs in which libraries may differ to what is compared: random numbers to their moments, vectors that are
// unique up to their sign to magnitudes, and the result of unique to its sorted elements and the element at each
// position.
inline Parts compared(const std::string& work, Parts output) {
  if (work == "normal") {
    double moments[4] = {};
    for (const float v : output[0]) {
      double power = 1;
      for (double& m : moments) m += power *= static_cast<double>(v);
    }
    const auto n = static_cast<double>(output[0].size());
    return parts(std::vector<float>{static_cast<float>(n), static_cast<float>(1 + moments[0] / n),
                                    static_cast<float>(moments[1] / n), static_cast<float>(1 + moments[2] / n),
                                    static_cast<float>(moments[3] / n)});
  }
  if (work == "qr" || work == "svd" || work == "eigh") {
    for (std::vector<float>& part : output) {
      for (float& v : part) v = std::abs(v);
    }
  }
  if (work == "unique") {
    for (float& at : output[1]) at = output[0][static_cast<size_t>(at)];
    std::sort(output[0].begin(), output[0].end());
  }
  return output;
}

// How many elements of an output are compared one by one: in all parts together, and at least in each part.
inline constexpr int64_t kCompared = 4096, kComparedOfPart = 64;

// Returns places among `count` elements: all, or `n`, one at random in each of n ranges of equal length.
inline std::vector<int64_t> places(int64_t count, int64_t n) {
  std::vector<int64_t> result;
  if (count <= n) n = count;
  for (int64_t i = 0; i < n; ++i) {
    const double at = count == n ? 0.0 : number(i, 98);
    result.push_back(
        static_cast<int64_t>((static_cast<double>(i) + at) * (static_cast<double>(count) / static_cast<double>(n))));
  }
  return result;
}

inline std::string text_of(const Parts& output) {
  const int64_t each = std::max(kComparedOfPart, kCompared / std::max<int64_t>(1, static_cast<int64_t>(output.size())));
  std::string result;
  const auto write = [&result](const char* form, double v) {
    char text[40];
    std::snprintf(text, sizeof(text), form, v);
    result += text;
  };
  for (const std::vector<float>& part : output) {
    double sum = 0, magnitude = 0, weighted = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      const double v = part[i];
      sum += v;
      magnitude += std::abs(v);
      weighted += v * (number(static_cast<int64_t>(i), 99) - 0.5);
    }
    const double n = part.empty() ? 1.0 : static_cast<double>(part.size());
    result += (result.empty() ? "" : " ; ") + std::to_string(part.size());
    for (const double mean : {sum / n, magnitude / n, weighted / n}) write(" %.17g", mean);
    for (const int64_t i : places(static_cast<int64_t>(part.size()), each)) {
      write(" %.9g", static_cast<double>(part[static_cast<size_t>(i)]));
    }
  }
  return result;
}

// Measures the seconds since its construction.
class Watch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

inline double batch_of(const Workload& w, int64_t runs) {
  const Watch watch;
  w.runs(runs);
  return watch.seconds();
}

// Returns how many runs take long enough to be timed.
inline int64_t runs_of_batch(const Workload& w) {
  constexpr double kBatch = 1e-3;
  int64_t runs = 1;
  while (batch_of(w, runs) < kBatch) runs *= 2;
  return runs;
}

// Calls batch() for `seconds`; then on until there were five calls, but for at most five times as long.
template <class Batch>
void repeat(double seconds, const Batch& batch) {
  const Watch watch;
  for (int batches = 0; watch.seconds() < (batches < 5 ? 5 : 1) * seconds; ++batches) batch();
}

inline std::string measure(const Workload& w, double seconds) {
  std::ostringstream out;
  out << "times";
  // Warms up before choosing the batch size: the slow first runs would make it too small.
  for (const Watch warm; warm.seconds() < seconds / 5;) {
    const double once = batch_of(w, 1);
    if (once < 5 * seconds) continue;
    out << ' ' << once;  // no time for more
    return out.str();
  }
  const int64_t runs = runs_of_batch(w);
  repeat(seconds, [&] { out << ' ' << batch_of(w, runs) / static_cast<double>(runs); });
  return out.str();
}

inline std::string turns(const Workload& w, const Workload& other, double seconds) {
  std::ostringstream out;
  out << "ratios";
  for (const Watch warm; warm.seconds() < seconds / 5;) {
    w.runs(1);
    other.runs(1);
  }
  const int64_t runs = runs_of_batch(w);
  repeat(seconds, [&] {
    const double before = batch_of(w, runs);
    out << ' ' << batch_of(other, runs) / before;
  });
  return out.str();
}

// Serves requests. `make(WORK, MODE, inputs)` returns the workload, or nullopt.
template <class Make>
int serve(std::istream& in, std::ostream& out, const Make& make) {
  std::optional<Workload> current;
  std::string work;
  std::vector<Input> inputs;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string verb, what, mode;
    words >> verb >> what >> mode;
    try {
      if (verb == "prepare") {
        work = what;
        inputs.clear();
        for (std::string text; words >> text;) inputs.push_back(input(text, static_cast<int>(inputs.size()) + 1));
        current.reset();  // frees its memory first
        current = make(work, mode, inputs);
        out << (current ? "ready " + text_of(compared(work, current->output())) : "none") << std::endl;
      } else if (verb == "measure" && current) {
        out << measure(*current, std::stod(what)) << std::endl;
      } else if (verb == "turns" && current) {
        const std::optional<Workload> other = make(work, mode, inputs);
        out << (other ? turns(*current, *other, std::stod(what)) : "none") << std::endl;
      } else {
        out << "error expected prepare, measure or turns, got " << line << std::endl;
      }
    } catch (const std::exception& error) {
      std::string text = error.what();
      for (char& c : text) c = c == '\n' ? ' ' : c;
      out << "error " << text << std::endl;
    }
  }
  return 0;
}

}  // namespace peers
