#include "panto/device/cpu/conv/onednn.h"

#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include "panto/lib/core/step/cancel.h"

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
    return made;  // leaked on purpose: the streams of threads use it until the end
  }();
  return engine;
}

bool onednn_has_avx512() {
  const int isa = dnnl_get_effective_cpu_isa();
  return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
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

namespace {

// Attributes that make oneDNN take scratch memory from us.
class ScratchpadAttributes {
 public:
  ScratchpadAttributes() {
    check_dnnl(dnnl_primitive_attr_create(&attr_), "attributes");
    dnnl_primitive_attr_set_scratchpad_mode(attr_, dnnl_scratchpad_mode_user);
  }
  ~ScratchpadAttributes() { dnnl_primitive_attr_destroy(attr_); }
  ScratchpadAttributes(const ScratchpadAttributes&) = delete;
  ScratchpadAttributes& operator=(const ScratchpadAttributes&) = delete;
  const_dnnl_primitive_attr_t get() const { return attr_; }

 private:
  dnnl_primitive_attr_t attr_ = nullptr;
};

}  // namespace

DnnlPrimitive::DnnlPrimitive(const_dnnl_op_desc_t op, const char* what) : what_(what) {
  const ScratchpadAttributes attributes;
  dnnl_primitive_desc_t desc = nullptr;
  check_dnnl(dnnl_primitive_desc_create(&desc, op, attributes.get(), dnnl_cpu_engine(), nullptr), what);
  make(desc);
}

DnnlPrimitive DnnlPrimitive::reorder(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  DnnlPrimitive p;
  p.what_ = "reorder";
  const ScratchpadAttributes attributes;
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_engine_t engine = dnnl_cpu_engine();
  check_dnnl(dnnl_reorder_primitive_desc_create(&desc, &from, engine, &to, engine, attributes.get()), p.what_);
  p.make(desc);
  return p;
}

void DnnlPrimitive::make(dnnl_primitive_desc_t desc) {
  scratchpad_ = *dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  const dnnl_status_t status = dnnl_primitive_create(&primitive_, desc);
  dnnl_primitive_desc_destroy(desc);
  check_dnnl(status, what_);
}

DnnlPrimitive::~DnnlPrimitive() { dnnl_primitive_destroy(primitive_); }

dnnl_memory_desc_t DnnlPrimitive::desc(dnnl_query_t what) const {
  const_dnnl_primitive_desc_t owned = nullptr;
  check_dnnl(dnnl_primitive_get_primitive_desc(primitive_, &owned), what_);
  return *dnnl_primitive_desc_query_md(owned, what, 0);
}

std::string_view DnnlPrimitive::implementation() const {
  const_dnnl_primitive_desc_t owned = nullptr;
  check_dnnl(dnnl_primitive_get_primitive_desc(primitive_, &owned), what_);
  const char* name = nullptr;
  check_dnnl(dnnl_primitive_desc_query(owned, dnnl_query_impl_info_str, 0, &name), what_);
  return name;
}

void DnnlPrimitive::run(std::initializer_list<Argument> arguments) const {
  constexpr size_t kMost = 5;
  std::optional<DnnlMemory> memory[kMost];
  dnnl_exec_arg_t args[kMost];
  int count = 0;
  const auto add = [&](int name, const dnnl_memory_desc_t& desc, const void* data) {
    memory[count].emplace(desc, data);
    args[count] = {name, memory[count]->get()};
    ++count;
  };
  for (const Argument& a : arguments) add(a.name, *a.desc, a.data);
  if (const size_t bytes = dnnl_memory_desc_get_size(&scratchpad_); bytes > 0) {
    add(DNNL_ARG_SCRATCHPAD, scratchpad_, dnnl_scratchpad(bytes));
  }
  const GeneratedCodeScope scope;
  check_dnnl(dnnl_primitive_execute(primitive_, dnnl_cpu_stream(), count, args), what_);
}

}  // namespace panto::cpu
