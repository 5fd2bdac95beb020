// Files that are given for graphs and are something else: what they are, and what to do with them. Internal.
#pragma once

#include <string>
#include <string_view>

namespace panto {

// Throws where the bytes are those of another format: Unimplemented for models, InvalidArgument for values.
void refuse_foreign_bytes(std::string_view bytes);
// The same by the file's name, for what has no marks of its own and turned out to be no graph.
void refuse_foreign_name(const std::string& path);

}  // namespace panto
