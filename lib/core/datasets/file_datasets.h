// Datasets of what files have. They are opened when a pass comes to them, unless graphs may open none
// (lib/core/io/graph_files.h): then PermissionDenied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"
#include "panto/lib/core/io/input_stream.h"

namespace panto::datasets {

// The records of TFRecord files (lib/core/io/record_file.h); of each from byte `offsets[i]` on, where there are
// offsets.
PANTO_EXPORT DatasetHandle tf_record_dataset(std::vector<std::string> files, Compression compression,
                                             std::vector<int64_t> offsets);
PANTO_EXPORT DatasetHandle text_line_dataset(std::vector<std::string> files, Compression compression);

struct FixedLengthRecords {
  int64_t header_bytes = 0, record_bytes = 0, footer_bytes = 0;
  Compression compression = Compression::kNone;
};
// Throws InvalidArgument unless records have bytes. A pass does where what is between header and footer is no whole
// number of records.
PANTO_EXPORT DatasetHandle fixed_length_record_dataset(std::vector<std::string> files, const FixedLengthRecords& form);

// The paths that fit one of the patterns (of a shell: *, ?, [...]), in alphabetical order.
PANTO_EXPORT DatasetHandle matching_files_dataset(std::vector<std::string> patterns);

}  // namespace panto::datasets
