// One walk back through the calls that a tape recorded: gradients of what was asked for, by slot. Internal.
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
    bool sparse = false;  // gradients by rows where that can be
    bool forget = false;  // an entry's values are not needed again after it
  };

  // `entries` in the order of their calls; they outlive this. A persistent tape may add to them while this runs: what
  // the gradients call is not gone back through. `stopped` as in detail::graph_gradients.
  BackwardPass(const std::vector<Entry*>& entries, size_t num_slots, bool* stopped);

  // First what is there and what is wanted, then run(), once, then the answers.
  void add(int32_t slot, Tensor gradient);
  void ask_for(int32_t slot) { is_source_[static_cast<size_t>(slot)] = 1; }
  void run(const Options& options);
  const Tensor& gradient(int32_t slot) const { return grads_[static_cast<size_t>(slot)]; }
  // To be added to it; only of a run with `sparse`.
  std::vector<IndexedSlices>& rows(int32_t slot) { return rows_[static_cast<size_t>(slot)]; }

 private:
  // By slot. Few lie within the object, as below: a small gradient allocates nothing.
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
  Flags is_source_;                               // somebody asked for its gradient
  Flags useful_;                                  // leads back to a source
  Flags takes_slices_;                            // empty unless rows are asked for
  std::vector<std::vector<IndexedSlices>> rows_;  // to be added to grads_
  // What `back` needs for one entry, here so that the memory is taken once.
  SmallVector<Tensor, 4> dys_;
  SmallVector<uint8_t, 8> needed_;
};

}  // namespace panto
