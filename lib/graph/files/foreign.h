// Detects files of other formats that are passed as graphs, and says what to do with them. Internal.
#pragma once

#include <string>
#include <string_view>

namespace panto {

// Throws if the bytes are of another format: Unimplemented for models, InvalidArgument for values.
void refuse_foreign_bytes(std::string_view bytes);
// The same by the file name, for formats without a signature in their bytes, after parsing as a graph failed.
void refuse_foreign_name(const std::string& path);

}  // namespace panto
