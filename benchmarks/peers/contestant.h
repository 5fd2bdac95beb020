// A contestant of `./dev bench peers`: a program that does the suite's workloads with one library. It answers on
// standard output what race.py asks on standard input, a line for a line:
//
//   prepare WORK MODE INPUT...   "ready COUNT MEAN MAGNITUDE WEIGHTED", what its output looks like; or "none"
//   measure SECONDS              "times T...", seconds a run, each of a batch that is long enough for the clock
//   turns SECONDS MODE           "ratios R...": what the same in another mode takes, by what was prepared; a batch of
//                                each in turns, so that a machine that becomes slower is slow for both; or "none"
//
// An INPUT is ROWSxCOLUMNS for numbers in [0, 1), ROWSxCOLUMNS:LOW:HIGH for others, COUNT:class:N for class numbers. A
// further :LAYOUT says what the dimensions are, for libraries that want them in another order: nhwc or nchw of images,
// hwio or hwio_nchw of the filters that go with them.
// No library is included here: every contestant is compiled by itself against its own.
#pragma once

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

// The suite's numbers, in [0, 1) and the same in every language: of the generator SplitMix64 (Steele, Lea and Flood
// 2014), the one after `i` others from a place that is the seed's. Weights of deep networks must not be regular.
inline double number(int64_t i, int seed) {
  uint64_t z = ((static_cast<uint64_t>(seed) << 40) + static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

struct Input {
  std::vector<int64_t> shape;
  std::vector<float> floats;
  std::vector<int32_t> classes;  // in place of floats
  std::string form;              // how it is held: a layout, or "bfloat16"; "" where there is nothing to say
};

inline Input input(const std::string& text, int seed) {
  Input result;
  std::istringstream parts(text);
  std::string dims, low, high;
  std::getline(parts, dims, ':');
  std::getline(parts, low, ':');
  std::getline(parts, high, ':');
  std::getline(parts, result.form, ':');
  int64_t count = 1;
  std::istringstream numbers(dims);
  for (std::string dim; std::getline(numbers, dim, 'x');) {
    result.shape.push_back(std::stoll(dim));
    count *= result.shape.back();
  }
  if (low == "class") {
    const double n = std::stod(high);
    result.classes.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      result.classes[static_cast<size_t>(i)] = static_cast<int32_t>(number(i, seed) * n);
    }
    return result;
  }
  const double from = low.empty() ? 0.0 : std::stod(low), to = high.empty() ? 1.0 : std::stod(high);
  result.floats.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    result.floats[static_cast<size_t>(i)] = static_cast<float>(from + (to - from) * number(i, seed));
  }
  return result;
}

struct Workload {
  std::function<std::vector<float>()> output;  // of one run
  std::function<void(int64_t)> runs;           // so many, the last one over when it returns
};

// Tells the compiler that `value` is used.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

// The numbers of several results, one after the other; `host` makes a vector of one.
template <class T, class Host>
std::vector<float> all_of(const std::vector<T>& results, const Host& host) {
  std::vector<float> all;
  for (const T& result : results) {
    const std::vector<float> more = host(result);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// A workload that calls `f`, whose result `host` makes a vector of. The loop is here, so that `f` is inlined into it.
template <class F, class Host>
Workload calls(F f, Host host) {
  return {.output = [f, host]() mutable { return host(f()); },
          .runs =
              [f](int64_t count) mutable {
                for (int64_t i = 0; i < count; ++i) keep(f());
              }};
}

// A contestant's works by name. Library::make(MODE, work, inputs) is the workload that does `work`, a function of
// tensors, in a mode, if the library has it.
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

inline std::string summary(const std::vector<float>& output) {
  double sum = 0, magnitude = 0, weighted = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    const double v = output[i];
    sum += v;
    magnitude += std::abs(v);
    weighted += v * (number(static_cast<int64_t>(i), 99) - 0.5);
  }
  const double n = output.empty() ? 1.0 : static_cast<double>(output.size());
  char text[160];
  std::snprintf(text, sizeof(text), "%zu %.17g %.17g %.17g", output.size(), sum / n, magnitude / n, weighted / n);
  return text;
}

// Seconds since its making.
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

// How many runs are long enough for the clock.
inline int64_t runs_of_batch(const Workload& w) {
  constexpr double kBatch = 1e-3;
  int64_t runs = 1;
  while (batch_of(w, runs) < kBatch) runs *= 2;
  return runs;
}

// Calls batch() as often as fits: at least five times, or what ends within five times as long.
template <class Batch>
void repeat(double seconds, const Batch& batch) {
  const Watch watch;
  for (int batches = 0; watch.seconds() < (batches < 5 ? 5 : 1) * seconds; ++batches) batch();
}

inline std::string measure(const Workload& w, double seconds) {
  std::ostringstream out;
  out << "times";
  // Warm before the length of a batch is chosen: the first runs would make it too short.
  for (const Watch warm; warm.seconds() < seconds / 5;) {
    const double once = batch_of(w, 1);
    if (once < 5 * seconds) continue;
    out << ' ' << once;  // for more there is no time
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

// `make(WORK, MODE, inputs)` is the workload, or nothing.
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
        current.reset();  // its memory first
        current = make(work, mode, inputs);
        out << (current ? "ready " + summary(current->output()) : "none") << std::endl;
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
