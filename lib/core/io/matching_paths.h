// Names of files by a pattern: "data/train-*-of-0001?.tfrecord".
// Thread-safety: plain functions.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"

namespace panto {

// Returns the existing files and folders that match, sorted. `*` matches any characters but '/', `?` one character,
// `[a-c]` one of these; a backslash makes the next character plain. A name that begins with a dot matches as any other.
// As in TensorFlow, names begin with "./" if the first part of the pattern is not a plain name. Folders that cannot be
// read count as empty.
PANTO_EXPORT std::vector<std::string> matching_paths(const std::string& pattern);

}  // namespace panto
