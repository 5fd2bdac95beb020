// Whether graphs may open files. Some ops open files that a graph names (InitializeTableFromTextFileV2, readers). A
// program that runs untrusted graphs can forbid that.
//
//   allow_graph_files(false);   // from now on, in this process; also PANTO_GRAPH_FILES=0, `panto run --no-files`
//   Session session(graph, {.allow_files = false});   // in the runs of one session
//
// Thread-safe.
#pragma once

#include <string>

#include "panto/lib/base/export.h"

namespace panto {

// Default: allowed, unless the environment variable PANTO_GRAPH_FILES is 0. A call overrides the default.
PANTO_EXPORT void allow_graph_files(bool allowed) noexcept;
PANTO_EXPORT bool graph_files_allowed() noexcept;  // in this process, and in this thread's step
// For kernels that open `path`. Throws PermissionDenied if graphs may not open files.
PANTO_EXPORT void expect_graph_files_allowed(const std::string& path);

}  // namespace panto
