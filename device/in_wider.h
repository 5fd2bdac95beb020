// Runs a kernel of a wider type for tensors of a narrower one: the part that all devices share.
#pragma once

#include <cstdint>
#include <utility>

#include "panto/device/op_kernels.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// Calls run(context) with a call in which each input and output of one of the types Ts has elements of type As instead.
// The inputs are converted before, the outputs after. convert(from, to, n) converts n elements in the device's memory.
// Throws ResourceExhausted.
template <class As, class... Ts, class Convert, class Run>
void run_in_wider(KernelContext& c, TypeList<Ts...> narrow, const Convert& convert, const Run& run) {
  SmallVector<Tensor, 4> given;
  SmallVector<const Tensor*, 4> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    Tensor t = c.in(i);
    with_type(narrow, t.dtype(), [&]<class T>() {
      Tensor wide = allocate_tensor(c.device(), dtype_of<As>, t.shape());
      convert(static_cast<const T*>(t.impl()->data), mutable_data<As>(wide), t.numel());
      t = std::move(wide);
    });
    given.push_back(std::move(t));
  }
  for (const Tensor& t : given) inputs.push_back(&t);
  Call call(c.call());
  call.inputs = {inputs.begin(), inputs.size()};
  call.state = nullptr;
  for (Tensor& out : call.outputs) {
    if ((TypeList<Ts...>::set.contains(out.dtype()))) out = allocate_tensor(c.device(), dtype_of<As>, out.shape());
  }
  KernelContext wider(call);
  run(wider);
  for (int k = 0; k < c.num_outputs(); ++k) {
    with_type(narrow, c.out(k).dtype(), [&]<class T>() {
      convert(static_cast<const As*>(wider.out(k).impl()->data), c.out_data<T>(k), c.out_numel(k));
    });
  }
}

}  // namespace panto
