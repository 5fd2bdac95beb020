#include "panto/device/cpu/onednn.h"

#include <memory>
#include <new>

namespace panto::cpu {
namespace {

struct Stream {
  dnnl_stream_t stream = nullptr;
  Stream() { check_dnnl(dnnl_stream_create(&stream, dnnl_cpu_engine(), dnnl_stream_default_flags), "stream"); }
  ~Stream() { dnnl_stream_destroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

struct Aligned {
  void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
};

}  // namespace

dnnl_engine_t dnnl_cpu_engine() {
  static dnnl_engine_t engine = [] {
    dnnl_engine_t made = nullptr;
    check_dnnl(dnnl_engine_create(&made, dnnl_cpu, 0), "engine");
    return made;  // leaked on purpose: threads' streams refer to it until the end
  }();
  return engine;
}

dnnl_stream_t dnnl_cpu_stream() {
  thread_local const Stream stream;
  return stream.stream;
}

void* dnnl_scratchpad(size_t bytes) {
  thread_local std::unique_ptr<void, Aligned> memory;
  thread_local size_t size = 0;
  if (bytes > size) {
    memory.reset();
    size = 0;
    void* grown = ::operator new(bytes, std::align_val_t{64}, std::nothrow);
    if (grown == nullptr) {
      fail(Code::kResourceExhausted, "scratch memory: expected " + std::to_string(bytes) + " bytes, got none");
    }
    memory.reset(grown);
    size = bytes;
  }
  return memory.get();
}

}  // namespace panto::cpu
