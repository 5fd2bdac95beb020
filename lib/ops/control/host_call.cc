#include "panto/lib/ops/control/host_call.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/ops/array.h"
#include "panto/ops/control.h"

namespace panto {
namespace {

class HostFunctions {
 public:
  static HostFunctions& get() {
    static auto* functions = new HostFunctions;
    return *functions;
  }
  void enter(const std::string& token, HostFunction f) {
    const std::lock_guard lock(mutex_);
    if (functions_.try_emplace(token, std::move(f)).second) return;
    failf(Code::kAlreadyExists, "token: expected one that no host function has, got \"{}\"", token);
  }
  bool remove(const std::string& token) {
    HostFunction removed;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    const auto found = functions_.find(token);
    if (found == functions_.end()) return false;
    removed = std::move(found->second);
    functions_.erase(found);
    return true;
  }
  HostFunction find(const std::string& token) const {
    const std::lock_guard lock(mutex_);
    const auto found = functions_.find(token);
    if (found != functions_.end()) return found->second;
    failf(Code::kNotFound, "token: expected that of a host function (enter_host_function), got \"{}\"", token);
  }
  std::string unused_token() { return fmt::format("panto_host_function_{}", last_.fetch_add(1)); }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, HostFunction, std::less<>> functions_;
  std::atomic<int> last_{0};
};

std::vector<Tensor> called(const HostFunction& f, const std::vector<Tensor>& inputs, std::string_view name,
                           const std::vector<DType>& types) {
  std::vector<Tensor> outputs;
  try {
    const RecorderPause pause;
    outputs = f(inputs);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    failf(Code::kAborted, "host function \"{}\": {}", name, error.what());
  }
  if (outputs.size() != types.size()) {
    invalid("host function \"{}\": expected {} outputs, got {}", name, types.size(), outputs.size());
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k].defined()) invalid("host function \"{}\": expected a tensor as output {}, got none", name, k);
    if (outputs[k].dtype() == types[k]) continue;
    invalid("host function \"{}\": expected output {} as {}, got {}", name, k, dtype_name(types[k]),
            dtype_name(outputs[k].dtype()));
  }
  return outputs;
}

}  // namespace

std::vector<Tensor> host_call(HostFunction f, const std::vector<Tensor>& inputs, const std::vector<HostOutput>& outputs,
                              const HostCallOptions& options) {
  std::vector<DType> types;
  for (const HostOutput& output : outputs) types.push_back(output.dtype);
  bool symbolic = symbolic_recorder() != nullptr;
  for (const Tensor& t : inputs) symbolic = symbolic || t.is_meta();
  std::vector<Tensor> results;
  if (symbolic) {
    const std::string token = options.token.empty() ? HostFunctions::get().unused_token() : options.token;
    enter_host_function(token, std::move(f));
    results = options.stateless ? py_func_stateless(inputs, token, types) : py_func(inputs, token, types);
  } else {
    results = called(f, inputs, options.token, types);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    if (outputs[k].shape.known_rank()) results[k] = ensure_shape(results[k], outputs[k].shape);
  }
  return results;
}

void enter_host_function(const std::string& token, HostFunction f) {
  if (!f) fail(Code::kInvalidArgument, "host function: expected one to call, got an empty Callable");
  HostFunctions::get().enter(token, std::move(f));
}
bool remove_host_function(const std::string& token) { return HostFunctions::get().remove(token); }

std::vector<Tensor> call_host_function(const std::string& token, const std::vector<Tensor>& inputs,
                                       const std::vector<DType>& types) {
  return called(HostFunctions::get().find(token), inputs, token, types);
}

}  // namespace panto
