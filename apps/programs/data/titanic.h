// The people aboard the Titanic as Example records, for the programs that learn who survived.
#pragma once

#include "panto/lib/core/tensor/tensor.h"

namespace panto::apps {

// A record of each of the 2201, string [2201]: "class", "sex" and "age" (first, second, third, crew; male, female;
// child, adult), "survived" (float32) are history; "years" (float32) and "keywords" (one to three strings), which the
// table lacks, are made up by a rule. They go through a TFRecord file, which is removed.
Tensor titanic_records();

}  // namespace panto::apps
