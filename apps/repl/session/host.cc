#include "panto/apps/repl/session/host.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace panto::repl {

Host& host() {
  static Host instance;
  return instance;
}

std::map<int, Host::Value>& shown_values() {
  static std::map<int, Host::Value> values;
  return values;
}

void keep_shown_value(int serial) {
  constexpr size_t kMost = 100;
  std::map<int, Host::Value>& values = shown_values();
  if (host().shown) values[serial] = *std::exchange(host().shown, std::nullopt);
  size_t unused = 0;
  for (auto at = values.rbegin(); at != values.rend(); ++at) unused += at->second.used ? 0 : 1;
  for (auto at = values.begin(); at != values.end() && unused > kMost;) {
    if (at->second.used) {
      ++at;
      continue;
    }
    if (at->second.destroy != nullptr) at->second.destroy(at->second.object);
    at = values.erase(at);
    --unused;
  }
}

namespace {

template <class T>
void hand_over(const T& value) {
  host().result = text(value);
}

template <class T>
void hand_over_and_keep(const T& value) {
  hand_over(value);
  keep_shown(value);
}

}  // namespace

void show_value(long long value) { hand_over(value); }
void show_value(unsigned long long value) { hand_over(value); }
void show_value(double value) { hand_over_and_keep(value); }
void show_value(float value) { hand_over_and_keep(value); }
void show_value(bool value) { hand_over_and_keep(value); }
void show_value(const std::string& value) { hand_over_and_keep(value); }
void show_value(const Tensor& value) {
  hand_over_and_keep(value);
  if (value.defined()) host().tensor = Host::ShownTensor{value.id(), value.dtype()};
}
void show_value(const Variable& value) { hand_over_and_keep(value); }
void show_value(const Function& value) { hand_over_and_keep(value); }

void keep(Tensor* object) { keep_object(object); }
void keep(Variable* object) { keep_object(object); }
void keep(Function* object) { keep_object(object); }
void keep(GradientTape* object) { keep_object(object); }
void keep(int* object) { keep_object(object); }
void keep(float* object) { keep_object(object); }
void keep(double* object) { keep_object(object); }
void keep(std::string* object) { keep_object(object); }

}  // namespace panto::repl

using panto::repl::host;

int panto_repl_enter(void (*run)()) {
  host().entered = run;
  return 0;
}

void panto_repl_result(const char* text, size_t size) { host().result = std::string(text, size); }

void panto_repl_shown(void* object, void (*destroy)(void* object)) {
  host().shown = panto::repl::Host::Value{object, destroy, false};
}

void panto_repl_shown_bytes(const void* bytes, size_t size) {
  void* copy = ::operator new(size);
  std::memcpy(copy, bytes, size);
  panto_repl_shown(copy, [](void* p) { ::operator delete(p); });
}

void* panto_repl_out(int serial) {
  panto::repl::Host::Value& value = panto::repl::shown_values().at(serial);
  value.used = true;
  return value.object;
}

void panto_repl_keep(const PantoReplObject* object) { host().object = *object; }

void* panto_repl_kept() { return host().object ? host().object->object : nullptr; }

void panto_repl_time(void (*body)(void* context, long n), void* context) {
  constexpr double kEnough = 0.05;  // seconds in one measurement
  constexpr int kRepeats = 7;
  const auto seconds = [&](long n) {
    const auto begin = std::chrono::steady_clock::now();
    body(context, n);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  long n = 1;
  double took = seconds(n);  // the first run may load and warm up
  while (took < kEnough && n < 1'000'000'000) {
    n = took <= 0 ? n * 10 : std::max(n + 1, std::min(n * 10, static_cast<long>(1.2 * kEnough / took * double(n))));
    took = seconds(n);
  }
  double best = took;
  int repeats = 1;
  for (; repeats < kRepeats && took * repeats < 3; ++repeats) best = std::min(best, seconds(n));
  host().timing = panto::repl::Host::Timing{best / static_cast<double>(n), n, repeats};
}
