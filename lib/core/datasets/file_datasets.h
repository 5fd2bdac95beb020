// Datasets of the contents of files. A file is opened when a pass reaches it; if graphs may not open files
// (lib/core/io/graph_files.h), that throws PermissionDenied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/datasets/dataset_value.h"
#include "panto/lib/core/io/input_stream.h"

namespace panto::datasets {

// The records of TFRecord files (lib/core/io/record_file.h). If there are offsets, file i is read from byte
// `offsets[i]` on.
PANTO_EXPORT DatasetHandle tf_record_dataset(std::vector<std::string> files, Compression compression,
                                             std::vector<int64_t> offsets);
PANTO_EXPORT DatasetHandle text_line_dataset(std::vector<std::string> files, Compression compression);

struct FixedLengthRecords {
  int64_t header_bytes = 0, record_bytes = 0, footer_bytes = 0;
  Compression compression = Compression::kNone;
};
// Throws InvalidArgument unless record_bytes is positive. A pass throws if the bytes between header and footer are not
// a whole number of records.
PANTO_EXPORT DatasetHandle fixed_length_record_dataset(std::vector<std::string> files, const FixedLengthRecords& form);

// The paths that match at least one of the patterns (as in a shell: *, ?, [...]), in alphabetical order.
PANTO_EXPORT DatasetHandle matching_files_dataset(std::vector<std::string> patterns);

}  // namespace panto::datasets
