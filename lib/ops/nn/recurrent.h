// Input checks of ops for steps of recurrent networks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "panto/lib/core/call/call.h"

namespace panto::recurrent {

// Throws if input i, called `name`, is known to have another shape.
void expect_shape(const CallView& c, int i, const char* name, const PartialShape& expected);
// Dimension k of input i; -1 if it is unknown or the input's rank is not `rank`.
int64_t dim_of(const CallView& c, int i, int k, int rank);
int64_t first_known(std::initializer_list<int64_t> dims);
// part_of: whole / count. times: part * count. Unknown (-1) stays unknown.
int64_t part_of(int64_t whole, int64_t count);
int64_t times(int64_t part, int64_t count);
int64_t sum_of(int64_t a, int64_t b);

// Dimensions of an LSTM step's inputs, -1 if unknown. Inputs `first` to `first` + 7 are x, cs_prev, h_prev, w, wci,
// wcf, wco and b. Throws if known dimensions disagree. `steps`: x is [time, batch, inputs].
struct LstmSizes {
  int64_t batch, inputs, units, gates;
};
LstmSizes expect_lstm(const CallView& c, int first, bool steps);

}  // namespace panto::recurrent
