// Names of files by a pattern: "data/train-*-of-0001?.tfrecord".
// Thread-safety: plain functions.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

// The files and folders that are there and match, sorted. `*` stands for any characters but '/', `?` for one, `[a-c]`
// for one of these; a backslash takes away what the next character means. A name that begins with a dot matches as any
// other. As TensorFlow has them, names begin with "./" where the pattern's first part is no plain name. Folders that
// cannot be read have nothing that matches.
PANTO_EXPORT std::vector<std::string> matching_paths(const std::string& pattern);

}  // namespace panto
