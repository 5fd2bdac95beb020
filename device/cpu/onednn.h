// oneDNN's C interface, as far as it is used here: errors as ours, the engine, a stream for each thread.
#pragma once

#include <dnnl.h>
#include <dnnl_debug.h>

#include "panto/lib/base/error.h"

namespace panto::cpu {

inline void check_dnnl(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  fail(status == dnnl_out_of_memory ? Code::kResourceExhausted : Code::kInternal,
       std::string("oneDNN, ") + what + ": expected success, got " + dnnl_status2str(status));
}

dnnl_engine_t dnnl_cpu_engine();
// Of the calling thread.
dnnl_stream_t dnnl_cpu_stream();
// `bytes` of memory of the calling thread's, aligned to 64; valid until the next call.
void* dnnl_scratchpad(size_t bytes);

// A memory object around bytes of somebody else's, for one execution.
class DnnlMemory {
 public:
  DnnlMemory(const dnnl_memory_desc_t& desc, const void* data) {
    // oneDNN writes to what a primitive declares as output only.
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
