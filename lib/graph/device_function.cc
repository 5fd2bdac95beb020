#include "panto/lib/graph/device_function.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/tensor/device.h"

namespace panto {

struct DeviceFunctionScope::Impl {
  DeviceFunction function;
  const DeviceFunctionScope* outer = nullptr;
  DeviceSpec around;  // the spec of the scopes between `outer` and this one
};

DeviceFunctionScope::DeviceFunctionScope(DeviceFunction function) {
  if (!function) invalid("device function: expected one to call, got none");
  ThreadState& state = thread_state();
  DeviceSpec around = state.device_function != nullptr ? std::move(state.device_in_function) : state.device_spec;
  impl_ = new Impl{std::move(function), state.device_function, std::move(around)};
  state.device_function = this;
  state.device_in_function = {};
}

DeviceFunctionScope::~DeviceFunctionScope() {
  ThreadState& state = thread_state();
  state.device_function = impl_->outer;
  state.device_in_function = impl_->outer != nullptr ? std::move(impl_->around) : DeviceSpec();
  delete impl_;
}

void ask_for_device(Graph& graph, int id) {
  const ThreadState& state = thread_state();
  if (state.device_function == nullptr) return graph.set_device(id, state.device_spec.to_string());
  graph.set_device(id, state.device_in_function.to_string());
  for (const DeviceFunctionScope* scope = state.device_function; scope != nullptr; scope = scope->impl_->outer) {
    const DeviceFunctionScope::Impl& of = *scope->impl_;
    with_context([&] { return fmt::format("node '{}'", graph.at(id).name()); },
                 [&] {
                   const std::string said = of.function(graph.at(id));
                   graph.set_device(id, DeviceSpec::parse(said).refined_from(of.around).to_string());
                 });
  }
}

}  // namespace panto
