// Kernels of feature crosses.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/cpu/strings/hashes.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

// The values of a column, row by row.
struct Column {
  const Tensor* values;
  bool is_dense;

  bool is_text() const { return values->dtype() == kString; }
  const std::string& text(int64_t i) const { return static_cast<const std::string*>(values->impl()->data)[i]; }
  int64_t number(int64_t i) const { return static_cast<const int64_t*>(values->impl()->data)[i]; }
};

// A row's values in one column.
struct Run {
  int64_t begin, count;
};
struct CrossedRow {
  int64_t row, crosses;
  std::vector<Run> runs;
};

class Crosses {
 public:
  explicit Crosses(const KernelContext& c) {
    const auto n = static_cast<int>(c.integer("N"));
    const int values = c.list(1).first, shapes = c.list(2).first;
    const auto [dense, dense_end] = c.list(3);
    if (n > 0) rows_ = host_integer(c.in(shapes));
    for (int i = 0; i < n; ++i) {
      columns.push_back({&c.in(values + i), false});
      sparse_.emplace_back(c, i);
      check_rows(sparse_.back());
    }
    for (int i = dense; i < dense_end; ++i) {
      columns.push_back({&c.in(i), true});
      lengths_.push_back(c.shape(i).dim(1));
      if (n == 0) rows_ = c.shape(i).dim(0);
    }
    find_rows();
  }

  // Outputs a sparse tensor whose values are cross(positions) for every combination of positions in the columns.
  template <class T, class Cross>
  void put_out(KernelContext& c, const Cross& cross) const {
    Tensor indices = allocate_tensor(c.device(), kInt64, Shape{total_, 2});
    Tensor values = allocate_tensor(c.device(), dtype_of<T>, Shape{total_});
    Tensor shape = allocate_tensor(c.device(), kInt64, Shape{2});
    auto* index = mutable_data<int64_t>(indices);
    T* value = mutable_data<T>(values);
    std::vector<int64_t> positions(columns.size());
    for (const CrossedRow& row : crossed_) {
      for (int64_t k = 0; k < row.crosses; ++k) {
        int64_t rest = k;
        for (size_t i = columns.size(); i-- > 0;) {
          positions[i] = row.runs[i].begin + rest % row.runs[i].count;
          rest /= row.runs[i].count;
        }
        *index++ = row.row;
        *index++ = k;
        *value++ = cross(positions);
      }
    }
    mutable_data<int64_t>(shape)[0] = rows_;
    mutable_data<int64_t>(shape)[1] = most_;
    c.set_out(0, std::move(indices));
    c.set_out(1, std::move(values));
    c.set_out(2, std::move(shape));
  }

  std::vector<Column> columns;

 private:
  void check_rows(const cpu::EntryIndices& indices) const {
    for (int64_t i = 0; i < indices.count(); ++i) {
      const int64_t least = i == 0 ? 0 : indices[i - 1][0], row = indices[i][0];
      if (row < least || row >= rows_) invalid("indices[{},0]: expected one in [{}, {}), got {}", i, least, rows_, row);
    }
  }

  // Finds the rows with a value in every column. Visits only rows with entries, as there may be more rows than memory.
  void find_rows() {
    if (columns.empty() || std::ranges::count(lengths_, 0) > 0) return;
    std::vector<int64_t> next(sparse_.size(), 0);
    for (int64_t row = 0; row < rows_; ++row) {
      if (!sparse_.empty()) {
        if (next[0] == sparse_[0].count()) break;
        row = sparse_[0][next[0]][0];
      }
      CrossedRow crossed{.row = row, .crosses = 1, .runs = {}};
      for (size_t i = 0; i < sparse_.size(); ++i) {
        const cpu::EntryIndices& indices = sparse_[i];
        while (next[i] < indices.count() && indices[next[i]][0] < row) ++next[i];
        const int64_t begin = next[i];
        while (next[i] < indices.count() && indices[next[i]][0] == row) ++next[i];
        crossed.runs.push_back({begin, next[i] - begin});
      }
      for (const int64_t length : lengths_) crossed.runs.push_back({row * length, length});
      for (const Run& run : crossed.runs)
        crossed.crosses = checked_mul(crossed.crosses, run.count, "number of crosses");
      if (crossed.crosses == 0) continue;
      most_ = std::max(most_, crossed.crosses);
      total_ = checked_add(total_, crossed.crosses, "number of crosses");
      crossed_.push_back(std::move(crossed));
    }
  }

  std::vector<cpu::EntryIndices> sparse_;
  std::vector<int64_t> lengths_;  // row lengths of the dense columns
  int64_t rows_ = 0, total_ = 0, most_ = 0;
  std::vector<CrossedRow> crossed_;
};

void put_out_texts(KernelContext& c, const std::string& separator) {
  const Crosses crosses(c);
  crosses.put_out<std::string>(c, [&](const std::vector<int64_t>& positions) {
    std::string text;
    for (size_t i = 0; i < positions.size(); ++i) {
      const Column& column = crosses.columns[i];
      if (i > 0) text += separator;
      text += column.is_text() ? column.text(positions[i]) : std::to_string(column.number(positions[i]));
    }
    return text;
  });
}

// Combines two hashes as TensorFlow does.
uint64_t joined(uint64_t a, uint64_t b) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  const auto mixed = [](uint64_t x) { return x ^ (x >> 47); };
  return mixed(mixed((a ^ kFactor ^ (mixed(b * kFactor) * kFactor)) * kFactor) * kFactor);
}

int64_t bucket(uint64_t hash, int64_t buckets) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(hash % static_cast<uint64_t>(buckets > 0 ? buckets : kMost));
}

struct RunTyped {
  template <class T>
  static void run(KernelContext& c) {
    if constexpr (std::is_same_v<T, std::string>) {
      put_out_texts(c, "_X_");
    } else {
      const Crosses crosses(c);
      const auto key = static_cast<uint64_t>(c.integer("hash_key"));
      const int64_t buckets = c.integer("num_buckets");
      crosses.put_out<int64_t>(c, [&](const std::vector<int64_t>& positions) {
        uint64_t hash = key;
        for (size_t i = 0; i < positions.size(); ++i) {
          const Column& column = crosses.columns[i];
          hash = joined(hash, column.is_text() ? cpu::farm_hash(column.text(positions[i]))
                                               : static_cast<uint64_t>(column.number(positions[i])));
        }
        return bucket(hash, buckets);
      });
    }
  }
};

void run_texts(KernelContext& c) { put_out_texts(c, c.data<std::string>(c.list(4).first)[0]); }

void run_hashed(KernelContext& c) {
  const Crosses crosses(c);
  const int64_t buckets = c.data<int64_t>(c.list(4).first)[0];
  const bool is_strong = c.data<bool>(c.list(5).first)[0];
  const auto* salt = c.data<int64_t>(c.list(6).first);
  const cpu::SipHash strong(static_cast<uint64_t>(salt[0]), static_cast<uint64_t>(salt[1]));
  const auto hash_of = [&](const Column& column, int64_t i) {
    if (!column.is_text() && column.is_dense && !is_strong) return static_cast<uint64_t>(column.number(i));
    std::string low;  // the integer's low 32 bits
    if (!column.is_text()) {
      for (int k = 0; k < 4; ++k) low.push_back(static_cast<char>(static_cast<uint64_t>(column.number(i)) >> (8 * k)));
    }
    const std::string& bytes = column.is_text() ? column.text(i) : low;
    return is_strong ? strong(bytes) : cpu::farm_hash(bytes);
  };
  crosses.put_out<int64_t>(c, [&](const std::vector<int64_t>& positions) {
    uint64_t hash = hash_of(crosses.columns[0], positions[0]);
    for (size_t i = 1; i < positions.size(); ++i) hash = joined(hash, hash_of(crosses.columns[i], positions[i]));
    return bucket(hash, buckets);
  });
}

const CpuKernel typed_kernel("SparseCross", TypeList<int64_t, std::string>{}, RunTyped{});
const CpuKernel text_kernel("SparseCrossV2", run_texts);
const CpuKernel hashed_kernel("SparseCrossHashed", run_hashed);

}  // namespace
}  // namespace panto
