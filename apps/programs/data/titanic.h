// The people aboard the Titanic as Example records, for the programs that learn who survived.
#pragma once

#include "panto/lib/core/tensor/tensor.h"

namespace panto::apps {

// Returns a record for each of the 2201 people, string [2201]. "class", "sex" and "age" (first, second, third, crew;
// male, female; child, adult) and "survived" (float32) are history. "years" (float32) and "keywords" (one to three
// strings) are not in the table; a rule makes them up. The records are written to a TFRecord file and read back; the
// file is removed.
Tensor titanic_records();

}  // namespace panto::apps
