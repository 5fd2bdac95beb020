// One backward pass over the calls that a tape recorded; gradients are indexed by slot. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "panto/autograd/entries.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class BackwardPass {
 public:
  struct Options {
    bool sparse = false;  // gradients as rows where possible
    bool forget = false;  // free an entry's values after its gradient is computed
  };

  // `entries` are in call order and must outlive the object. A persistent tape may add entries while this runs, as it
  // records the gradient ops; the pass ignores these. `stopped` as in detail::graph_gradients.
  BackwardPass(const std::vector<Entry*>& entries, size_t num_slots, bool* stopped);

  // Call add and ask_for first, then run() once, then gradient and rows.
  void add(int32_t slot, Tensor gradient);
  void ask_for(int32_t slot) { is_source_[static_cast<size_t>(slot)] = 1; }
  void run(const Options& options);
  const Tensor& gradient(int32_t slot) const { return grads_[static_cast<size_t>(slot)]; }
  // Further parts of the gradient, to be added to it; only after a run with `sparse`.
  std::vector<IndexedSlices>& rows(int32_t slot) { return rows_[static_cast<size_t>(slot)]; }

 private:
  // By slot. Inline storage, as below, so that a small gradient allocates nothing.
  using Flags = SmallVector<uint8_t, 32>;

  Flags mark_useful() const;
  Flags mark_rows() const;
  void pass_rows(const Entry& e);
  void back(const Entry& e);
  void differentiate(const Entry& e);
  void differentiate_by_parts(const Entry& e);

  std::span<Entry* const> recorded() const { return {entries_.data(), num_entries_}; }

  const std::vector<Entry*>& entries_;
  size_t num_entries_;
  bool* stopped_;
  SmallVector<Tensor, 8> grads_;
  Flags is_source_;                               // its gradient was asked for
  Flags useful_;                                  // depends on a source
  Flags takes_slices_;                            // empty unless Options::sparse
  std::vector<std::vector<IndexedSlices>> rows_;  // to be added to grads_
  // Scratch memory of `back`, kept to be allocated once.
  SmallVector<Tensor, 4> dys_;
  SmallVector<uint8_t, 8> needed_;
};

}  // namespace panto
