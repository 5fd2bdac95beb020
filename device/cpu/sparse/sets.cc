// Kernels of sets. All sets of a tensor are kept as one set of pairs (row number, value) in ascending order.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

using cpu::EntryIndices;

template <class T>
struct Member {
  int64_t row;
  const T* value;
  bool operator<(const Member& other) const { return row != other.row ? row < other.row : *value < *other.value; }
  bool operator==(const Member& other) const { return row == other.row && *value == *other.value; }
};
template <class T>
using Members = std::vector<Member<T>>;

template <class T>
void sort_different(Members<T>& members) {
  std::ranges::sort(members, [](const Member<T>& a, const Member<T>& b) { return a < b; });
  members.erase(std::unique(members.begin(), members.end()), members.end());
}

// Inputs `first`, + 1 and + 2 are indices, values and shape.
template <class T>
Members<T> sparse_members(const KernelContext& c, int first) {
  const EntryIndices indices(c, first);
  const auto* dims = c.data<int64_t>(first + 2);
  cpu::check_within(indices, dims, "indices");
  if (c.flag("validate_indices")) cpu::check_ascending(indices, "indices");
  Members<T> members;
  for (int64_t i = 0; i < indices.count(); ++i) {
    int64_t row = 0;
    for (int64_t d = 0; d + 1 < indices.rank(); ++d) row = row * dims[d] + indices[i][d];
    members.push_back({row, c.data<T>(first + 1) + i});
  }
  sort_different(members);
  return members;
}

template <class T>
Members<T> dense_members(const KernelContext& c, int input) {
  const Shape& shape = c.shape(input);
  const int64_t columns = shape.dim(shape.rank() - 1);
  Members<T> members;
  for (int64_t i = 0; i < c.numel(input); ++i) members.push_back({i / columns, c.data<T>(input) + i});
  sort_different(members);
  return members;
}

template <class T>
Members<T> operation(std::string_view name, const Members<T>& a, const Members<T>& b) {
  Members<T> result;
  const auto to = std::back_inserter(result);
  switch (name[0]) {
    case 'a':
    case 'A': std::set_difference(a.begin(), a.end(), b.begin(), b.end(), to); break;
    case 'b':
    case 'B': std::set_difference(b.begin(), b.end(), a.begin(), a.end(), to); break;
    case 'i':
    case 'I': std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), to); break;
    default: std::set_union(a.begin(), a.end(), b.begin(), b.end(), to);
  }
  return result;
}

// `dims`: dimensions of the sets without the last one.
template <class T>
void put_out(KernelContext& c, const std::vector<int64_t>& dims, const Members<T>& members) {
  const auto count = static_cast<int64_t>(members.size()), rank = static_cast<int64_t>(dims.size()) + 1;
  Tensor indices = allocate_tensor(c.device(), kInt64, Shape{count, rank});
  Tensor values = allocate_tensor(c.device(), dtype_of<T>, Shape{count});
  Tensor shape = allocate_tensor(c.device(), kInt64, Shape{rank});
  auto* index = mutable_data<int64_t>(indices);
  T* value = mutable_data<T>(values);
  int64_t position = 0, largest = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    position = i > 0 && members[i - 1].row == members[i].row ? position + 1 : 0;
    largest = std::max(largest, position + 1);
    int64_t rest = members[i].row;
    for (int64_t d = rank - 1; d-- > 0;) {
      index[d] = rest % dims[static_cast<size_t>(d)];
      rest /= dims[static_cast<size_t>(d)];
    }
    index[rank - 1] = position;
    index += rank;
    *value++ = *members[i].value;
  }
  auto* sizes = mutable_data<int64_t>(shape);
  std::ranges::copy(dims, sizes);
  sizes[rank - 1] = largest;
  c.set_out(0, std::move(indices));
  c.set_out(1, std::move(values));
  c.set_out(2, std::move(shape));
}

std::vector<int64_t> dense_dims(const KernelContext& c, int input) {
  const Shape& shape = c.shape(input);
  return {shape.dims().begin(), shape.dims().end() - 1};
}

struct RunDense {
  template <class T>
  static void run(KernelContext& c) {
    put_out<T>(c, dense_dims(c, 0), operation(c.text("set_operation"), dense_members<T>(c, 0), dense_members<T>(c, 1)));
  }
};
struct RunMixed {
  template <class T>
  static void run(KernelContext& c) {
    put_out<T>(c, dense_dims(c, 0),
               operation(c.text("set_operation"), dense_members<T>(c, 0), sparse_members<T>(c, 1)));
  }
};
struct RunSparse {
  template <class T>
  static void run(KernelContext& c) {
    const auto* dims = c.data<int64_t>(2);
    put_out<T>(c, {dims, dims + c.numel(2) - 1},
               operation(c.text("set_operation"), sparse_members<T>(c, 0), sparse_members<T>(c, 3)));
  }
};

struct RunSize {
  template <class T>
  static void run(KernelContext& c) {
    auto* sizes = c.out_data<int32_t>(0);
    std::fill_n(sizes, c.out_numel(0), 0);
    for (const Member<T>& member : sparse_members<T>(c, 0)) {
      sizes[member.row] = checked_cast<int32_t>(int64_t{sizes[member.row]} + 1, "size");
    }
  }
};

using values = TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>;
const CpuKernel size_kernel("SetSize", values{}, RunSize{});
const CpuKernel dense_kernel("DenseToDenseSetOperation", values{}, RunDense{});
const CpuKernel mixed_kernel("DenseToSparseSetOperation", values{}, RunMixed{});
const CpuKernel sparse_kernel("SparseToSparseSetOperation", values{}, RunSparse{});

}  // namespace
}  // namespace panto
