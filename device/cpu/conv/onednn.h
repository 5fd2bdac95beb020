// The part of oneDNN's C interface that we use: errors translated to ours, the engine, a stream for each thread.
#pragma once

#include <dnnl.h>
#include <dnnl_debug.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "panto/lib/base/error.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto::cpu {

inline void check_dnnl(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  fail(status == dnnl_out_of_memory ? Code::kResourceExhausted : Code::kInternal,
       std::string("oneDNN, ") + what + ": expected success, got " + dnnl_status2str(status));
}

// kFloat32 or kBFloat16.
inline dnnl_data_type_t dnnl_type(DType type) { return type == kBFloat16 ? dnnl_bf16 : dnnl_f32; }

dnnl_engine_t dnnl_cpu_engine();
// Whether oneDNN has primitives for AVX-512 on this machine.
bool onednn_has_avx512();
// The calling thread's stream.
dnnl_stream_t dnnl_cpu_stream();
// Returns `bytes` of scratch memory of the calling thread, aligned to 64; valid until the thread's next call.
void* dnnl_scratchpad(size_t bytes);

// A primitive that several threads may execute at once: it uses the executing thread's scratch memory. It is made for
// the number of threads that OpenMP reports to the constructing thread: see OneThread. Empty when default-constructed.
class DnnlPrimitive {
 public:
  struct Argument {
    int name;  // DNNL_ARG_SRC ...
    const dnnl_memory_desc_t* desc;
    const void* data;
  };

  DnnlPrimitive() = default;
  // Makes a primitive from an operation descriptor (dnnl_matmul_desc_t and similar). `what` appears in messages and
  // must outlive all primitives.
  DnnlPrimitive(const_dnnl_op_desc_t op, const char* what);
  // A copy from one layout to another.
  static DnnlPrimitive reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to);
  DnnlPrimitive(DnnlPrimitive&& other) noexcept { swap(other); }
  DnnlPrimitive& operator=(DnnlPrimitive&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DnnlPrimitive();

  explicit operator bool() const { return primitive_ != nullptr; }
  // The layout of an operand (dnnl_query_src_md and similar).
  dnnl_memory_desc_t desc(dnnl_query_t what) const;
  // The name of the algorithm.
  std::string_view implementation() const;
  // Whether oneDNN has only its reference implementation for this primitive.
  bool is_reference() const { return implementation().starts_with("ref"); }
  // Runs on the calling thread's stream. At most 4 arguments.
  void run(std::initializer_list<Argument> arguments) const;

 private:
  void make(dnnl_primitive_desc_t desc);
  void swap(DnnlPrimitive& other) noexcept {
    std::swap(primitive_, other.primitive_);
    std::swap(scratchpad_, other.scratchpad_);
    std::swap(what_, other.what_);
  }

  dnnl_primitive_t primitive_ = nullptr;
  dnnl_memory_desc_t scratchpad_{};
  const char* what_ = "";
};

// A oneDNN memory object around bytes that it does not own, for one execution.
class DnnlMemory {
 public:
  DnnlMemory(const dnnl_memory_desc_t& desc, const void* data) {
    // The const_cast is safe: oneDNN writes only to arguments that a primitive declares as outputs.
    check_dnnl(dnnl_memory_create(&memory_, &desc, dnnl_cpu_engine(), const_cast<void*>(data)), "memory");  // NOLINT
  }
  ~DnnlMemory() { dnnl_memory_destroy(memory_); }
  DnnlMemory(const DnnlMemory&) = delete;
  DnnlMemory& operator=(const DnnlMemory&) = delete;
  dnnl_memory_t get() const { return memory_; }

 private:
  dnnl_memory_t memory_ = nullptr;
};

}  // namespace panto::cpu
