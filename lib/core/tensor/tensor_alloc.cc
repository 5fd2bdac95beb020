#include "panto/lib/core/tensor/tensor_alloc.h"

#include <cstring>
#include <mutex>
#include <new>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

// ---- Blocks: header, or header and small data ----------------------------------------------------------------------
//
// Each thread keeps free blocks of two sizes in lists of its own. A block may be freed on another thread than the one
// that took it. Blocks of long lists, and of threads that end, go to a common pool, from which empty lists are
// refilled. The pool's memory is never returned to the system: it is as large as the most tensors alive at one time
// needed.

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPlainBlocks = true;  // every tensor is a heap block of its own, so that the sanitizer tracks it
#else
constexpr bool kPlainBlocks = false;
#endif

constexpr size_t kAlignment = 64;
constexpr size_t kHeaderBytes = (sizeof(TensorImpl) + kAlignment - 1) / kAlignment * kAlignment;
enum BlockSize : uint8_t { kHeaderOnly, kWithData, kBlockSizes };
constexpr size_t kBlockBytes[kBlockSizes] = {kHeaderBytes, kHeaderBytes + kInlineBytes};
constexpr int32_t kBatch = 64;            // blocks moved between a thread's list and the pool at a time
constexpr int32_t kLongest = 4 * kBatch;  // longest list of a thread
constexpr int64_t kIdBlock = 4096;

struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* first = nullptr;
  int32_t count = 0;

  void push(void* block) noexcept {
    first = ::new (block) FreeBlock{first};
    ++count;
  }
  void* pop() noexcept {
    FreeBlock* block = first;
    first = block->next;
    --count;
    return block;
  }
};

// Trivial, so that access needs no guard and works while the thread's other objects are destroyed.
struct ThreadCache {
  FreeList lists[kBlockSizes];
  int64_t next_id = 0;
  int64_t end_id = 0;
  bool attached = false;  // its lists will be emptied when the thread ends
  bool ended = false;     // the lists were emptied: all blocks go to the pool now
};

// initial-exec: access without a function call. The few bytes fit the reserve that the dynamic linker keeps for such
// libraries.
__attribute__((tls_model("initial-exec"))) thread_local constinit ThreadCache cache;

struct Pool {
  std::mutex mutex;
  FreeList lists[kBlockSizes];
};

Pool& pool() {
  static auto* shared = new Pool;  // leaked on purpose: tensors may outlive every static object
  return *shared;
}

std::atomic<int64_t> next_id_block{1};

struct ThreadEnd {
  ~ThreadEnd() {
    cache.ended = true;
    const std::lock_guard lock(pool().mutex);
    for (int size = 0; size < kBlockSizes; ++size) {
      while (cache.lists[size].count > 0) pool().lists[size].push(cache.lists[size].pop());
    }
  }
};

void attach_thread() {
  thread_local ThreadEnd end;
  static_cast<void>(&end);
  cache.attached = true;
}

void* aligned_memory(size_t bytes) { return ::operator new(bytes, std::align_val_t{kAlignment}); }

[[gnu::noinline]] void* refill_and_take(BlockSize size) {
  if (!cache.attached) attach_thread();
  FreeList& list = cache.lists[size];
  {
    const std::lock_guard lock(pool().mutex);
    FreeList& pooled = pool().lists[size];
    if (cache.ended && pooled.count > 0) return pooled.pop();
    for (int i = 0; i < kBatch && pooled.count > 0; ++i) list.push(pooled.pop());
  }
  if (list.count > 0) return list.pop();
  const size_t bytes = kBlockBytes[size];
  if (cache.ended) return aligned_memory(bytes);
  auto* slab = static_cast<std::byte*>(aligned_memory(bytes * kBatch));
  for (int i = kBatch - 1; i >= 0; --i) list.push(slab + static_cast<size_t>(i) * bytes);
  return list.pop();
}

[[gnu::noinline]] void give_to_pool(BlockSize size, int32_t count) noexcept {
  const std::lock_guard lock(pool().mutex);
  FreeList& list = cache.lists[size];
  for (; count > 0 && list.count > 0; --count) pool().lists[size].push(list.pop());
}

void* take_block(BlockSize size) {
  if constexpr (kPlainBlocks) return aligned_memory(kBlockBytes[size]);
  FreeList& list = cache.lists[size];
  return list.count > 0 ? list.pop() : refill_and_take(size);
}

void free_block(BlockSize size, void* block) noexcept {
  if constexpr (kPlainBlocks) return ::operator delete(block, std::align_val_t{kAlignment});
  FreeList& list = cache.lists[size];
  list.push(block);
  // Also attaches threads that only free blocks: their lists must not be lost when they end.
  if (!cache.attached && !cache.ended) attach_thread();
  if (cache.ended) {
    give_to_pool(size, list.count);
  } else if (list.count > kLongest) {
    give_to_pool(size, kLongest / 2);
  }
}

// A handle without data; `shape` may have unknowns.
TensorImpl* new_impl(BlockSize size, Device& device, DType dtype, const PartialShape& shape, int64_t numel) {
  auto* impl = ::new (take_block(size)) TensorImpl;
  impl->dtype = dtype;
  impl->id = next_tensor_id();
  impl->numel = numel;
  impl->device = &device;
  static_cast<PartialShape&>(impl->shape) = shape;
  return impl;
}

void* inline_bytes(TensorImpl* impl) noexcept { return reinterpret_cast<std::byte*>(impl) + kHeaderBytes; }

size_t bytes_of(DType dtype, int64_t count) {
  int64_t bytes;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(dtype_size(dtype)), &bytes)) {
    failf(Code::kResourceExhausted, "memory: expected fewer than 2^63 bytes, got {} elements of {}", count,
          dtype_name(dtype));
  }
  return static_cast<size_t>(bytes);
}

template <class T>
void construct(void* data, int64_t count) {
  std::uninitialized_value_construct_n(static_cast<T*>(data), count);
}
template <class T>
void destroy(void* data, int64_t count) noexcept {
  std::destroy_n(static_cast<T*>(data), count);
}

void construct_elements(DType dtype, void* data, int64_t count) {
  switch (dtype) {
    case kString: construct<std::string>(data, count); break;
    case kResource: construct<ResourceHandle>(data, count); break;
    case kVariant: construct<Variant>(data, count); break;
    default: break;
  }
}

void destroy_elements(DType dtype, void* data, int64_t count) noexcept {
  switch (dtype) {
    case kString: destroy<std::string>(data, count); break;
    case kResource: destroy<ResourceHandle>(data, count); break;
    case kVariant: destroy<Variant>(data, count); break;
    default: break;
  }
}

}  // namespace

int64_t next_tensor_id() noexcept {
  if (cache.next_id == cache.end_id) {
    cache.next_id = next_id_block.fetch_add(kIdBlock, std::memory_order_relaxed);
    cache.end_id = cache.next_id + kIdBlock;
  }
  return cache.next_id++;
}

namespace {

void destroy_now(TensorImpl* impl) noexcept {
  const BlockSize size = impl->inline_data ? kWithData : kHeaderOnly;
  if (impl->buffer != nullptr) impl->buffer->release();
  delete impl->meta;
  impl->~TensorImpl();
  free_block(size, impl);
}

// A variant, or the object behind a handle, may hold tensors of such elements: optionals of optionals, lists of lists,
// queues of queues, nested to any depth. Recursive destruction would overflow the stack. Instead, holders that are
// found while another one is destroyed are put into a line, and the outermost call destroys them in turn. The line is
// linked through a field that is no longer used, because there may be no memory for anything else.
struct HolderLine {
  TensorImpl* first = nullptr;
  bool worked_off = false;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit HolderLine holders;

[[gnu::noinline]] void destroy_holder(TensorImpl* impl) noexcept {
  impl->data = holders.first;
  holders.first = impl;
  if (holders.worked_off) return;
  holders.worked_off = true;
  while (holders.first != nullptr) {
    TensorImpl* next = holders.first;
    holders.first = static_cast<TensorImpl*>(next->data);
    destroy_now(next);
  }
  holders.worked_off = false;
}

}  // namespace

void TensorImpl::destroy(TensorImpl* impl) noexcept {
  if (impl->buffer != nullptr && (impl->dtype == kVariant || impl->dtype == kResource)) return destroy_holder(impl);
  destroy_now(impl);
}

// ---- Buffer --------------------------------------------------------------------------------------------------------

Buffer* Buffer::allocate(Device& device, DType dtype, int64_t count) {
  const size_t bytes = bytes_of(dtype, count);
  if (!is_plain(dtype) && !device.host_memory()) {
    failf(Code::kUnimplemented, "{} tensors live in host memory: expected a CPU device, got {}", dtype_name(dtype),
          device.name());
  }
  std::unique_ptr<Buffer> buffer(new Buffer);
  // Never allocates zero bytes: `data` must not be null, even for empty tensors.
  void* data = device.allocate(bytes > 0 ? bytes : 1);
  try {
    construct_elements(dtype, data, count);
  } catch (...) {
    device.deallocate(data, bytes > 0 ? bytes : 1);
    throw;
  }
  buffer->dtype_ = dtype;
  buffer->count_ = count;
  buffer->bytes_ = bytes;
  buffer->data_ = data;
  buffer->device_ = &device;
  return buffer.release();
}

Buffer* Buffer::adopt(Device& device, void* data, size_t bytes, std::shared_ptr<void> owner) {
  auto* buffer = new Buffer;
  buffer->bytes_ = bytes;
  buffer->data_ = data;
  buffer->device_ = &device;
  buffer->owner_ = std::move(owner);
  return buffer;
}

void Buffer::release() noexcept {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (!adopted()) {
    destroy_elements(dtype_, data_, count_);
    device_->deallocate(data_, bytes_ > 0 ? bytes_ : 1);
  }
  delete this;
}

// ---- Making tensors ------------------------------------------------------------------------------------------------

Tensor allocate_tensor(Device& device, DType dtype, const Shape& shape) {
  return allocate_tensor(device, dtype, shape, shape.numel());
}

Tensor allocate_tensor(Device& device, DType dtype, const Shape& shape, int64_t numel) {
  const bool plain = is_plain(dtype);
  if (plain && device.kind() == DeviceKind::kCpu && numel <= static_cast<int64_t>(kInlineBytes) &&
      static_cast<size_t>(numel) * dtype_size(dtype) <= kInlineBytes) {
    TensorImpl* impl = new_impl(kWithData, device, dtype, shape, numel);
    impl->inline_data = true;
    impl->data = inline_bytes(impl);
    return Tensor(impl);
  }
  if (device.is_meta()) fail(Code::kInternal, "memory: expected a device that has some, got META");
  Buffer* buffer = Buffer::allocate(device, dtype, numel);
  TensorImpl* impl;
  try {
    impl = new_impl(kHeaderOnly, device, dtype, shape, numel);
  } catch (...) {
    buffer->release();
    throw;
  }
  impl->buffer = buffer;
  impl->data = buffer->data();
  return Tensor(impl);
}

Tensor view_tensor(const Tensor& base, const Shape& shape, int64_t offset) {
  const TensorImpl& from = *base.impl();
  const int64_t numel = shape.numel();
  if (base.is_meta()) {
    if (from.meta->lifted != nullptr) fail(Code::kInternal, "view: expected bytes, got a tensor inside a transform");
    std::optional<PartialValues> values;
    if (from.meta->values && offset + numel <= static_cast<int64_t>(from.meta->values->size())) {
      const auto first = from.meta->values->begin() + offset;
      values.emplace(first, first + numel);
    }
    return meta_tensor(from.dtype, shape, std::move(values), from.meta->trace, from.meta->handle);
  }
  if (offset < 0 || numel > from.numel || offset > from.numel - numel) {
    failf(Code::kInternal, "view: expected elements within [0, {}), got {} from {}", from.numel, numel, offset);
  }
  const size_t size = dtype_size(from.dtype);
  auto* data = static_cast<std::byte*>(from.data) + static_cast<size_t>(offset) * size;
  const size_t bytes = static_cast<size_t>(numel) * size;
  // Copying a few bytes costs less than sharing the count, and a small view then does not keep a large buffer alive.
  if (from.inline_data || (bytes <= kInlineBytes && is_plain(from.dtype) && from.device->kind() == DeviceKind::kCpu)) {
    Tensor copy = allocate_tensor(*from.device, from.dtype, shape, numel);
    std::memcpy(copy.impl()->data, data, bytes);
    return copy;
  }
  TensorImpl* impl = new_impl(kHeaderOnly, *from.device, from.dtype, shape, numel);
  from.buffer->retain();
  impl->buffer = from.buffer;
  impl->data = data;
  return Tensor(impl);
}

Tensor adopt_tensor(Device& device, DType dtype, const Shape& shape, void* data, std::shared_ptr<void> owner) {
  const int64_t numel = shape.numel();
  if (!is_plain(dtype)) {
    failf(Code::kInvalidArgument, "adopted memory: expected elements of a plain type, got {}", dtype_name(dtype));
  }
  static std::byte nothing[kAlignment];
  if (data == nullptr) {
    if (numel > 0) fail(Code::kInvalidArgument, "adopted memory: expected an address, got null");
    data = nothing;
  }
  Buffer* buffer = Buffer::adopt(device, data, bytes_of(dtype, numel), std::move(owner));
  TensorImpl* impl;
  try {
    impl = new_impl(kHeaderOnly, device, dtype, shape, numel);
  } catch (...) {
    buffer->release();
    throw;
  }
  impl->buffer = buffer;
  impl->data = data;
  return Tensor(impl);
}

Tensor meta_tensor(DType dtype, const PartialShape& shape, std::optional<PartialValues> values, const void* trace,
                   std::shared_ptr<const HandleInfo> handle) {
  if (values && static_cast<int64_t>(values->size()) > kMaxPartialValues) values.reset();
  auto meta = std::make_unique<MetaInfo>(MetaInfo{std::move(values), trace, std::move(handle)});
  TensorImpl* impl = new_impl(kHeaderOnly, meta_device(), dtype, shape, shape.numel());
  impl->meta = meta.release();
  return Tensor(impl);
}

Tensor lifted_tensor(const PartialShape& shape, Lifted lifted) {
  Tensor t = meta_tensor(lifted.value.dtype(), shape);
  t.impl()->meta->lifted = std::make_unique<const Lifted>(std::move(lifted));
  return t;
}

Tensor resource_tensor(ResourceHandle handle) {
  Tensor t = allocate_tensor(cpu_device(), kResource, Shape{});
  *mutable_data<ResourceHandle>(t) = std::move(handle);
  return t;
}

Tensor copy_to_device(const Tensor& from, Device& device) {
  const TensorImpl& impl = *from.impl();
  if (impl.device->is_meta()) {
    failf(Code::kFailedPrecondition, "copy: expected a tensor with a value, got symbolic {}{}", dtype_name(impl.dtype),
          impl.shape.to_string());
  }
  if (!is_plain(impl.dtype)) {
    if (!device.host_memory() || !impl.device->host_memory()) {
      failf(Code::kUnimplemented, "copy: {} tensors live in host memory, got device {}", dtype_name(impl.dtype),
            device.name());
    }
    // The elements are in host memory in both cases: all CPU devices share it.
    return view_tensor(from, impl.shape);
  }
  Tensor copy = allocate_tensor(device, impl.dtype, impl.shape);
  const size_t bytes = from.nbytes();
  if (bytes == 0) return copy;
  void* to = copy.impl()->data;
  device.copy_from_device(to, *impl.device, impl.data, bytes);
  return copy;
}

bool exclusively_owned(const Tensor& t) noexcept {
  const TensorImpl* impl = t.impl();
  if (impl == nullptr || impl->refs.load(std::memory_order_acquire) != 1) return false;
  if (impl->inline_data) return true;
  return impl->buffer != nullptr && impl->buffer->unique() && !impl->buffer->adopted();
}

namespace {

template <class T>
PartialValues widened(const TensorImpl& impl) {
  const T* data = static_cast<const T*>(impl.data);
  PartialValues values(static_cast<size_t>(impl.numel));
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
      if (data[i] > static_cast<T>(std::numeric_limits<int64_t>::max())) continue;  // not an int64: unknown
    }
    values[i] = static_cast<int64_t>(data[i]);
  }
  return values;
}

}  // namespace

std::optional<PartialValues> known_integers(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  if (impl.meta != nullptr) return impl.meta->values;
  if (impl.numel > kMaxPartialValues || !impl.device->host_memory()) return std::nullopt;
  switch (impl.dtype) {
    case kInt8: return widened<int8_t>(impl);
    case kInt16: return widened<int16_t>(impl);
    case kInt32: return widened<int32_t>(impl);
    case kInt64: return widened<int64_t>(impl);
    case kUint8: return widened<uint8_t>(impl);
    case kUint16: return widened<uint16_t>(impl);
    case kUint32: return widened<uint32_t>(impl);
    case kUint64: return widened<uint64_t>(impl);
    default: return std::nullopt;
  }
}

}  // namespace panto
