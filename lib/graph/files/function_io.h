// Functions as TensorFlow's FunctionDefs, alone or in a library.
//
//   const std::string bytes = to_function_library(function);          // with those that it calls
//   auto again = parse_function_library(bytes, function->name());
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/graph_function.h"

namespace panto {

// The bytes of a FunctionDef. Throws InvalidArgument for a function that calls others: a library has them.
PANTO_EXPORT std::string to_function_def(const std::shared_ptr<const GraphFunction>& function);
// The bytes of a FunctionDefLibrary with the function and those that it calls. The same function gives the same bytes.
PANTO_EXPORT std::string to_function_library(const std::shared_ptr<const GraphFunction>& function);

// Throws DataLoss for bytes that are none, InvalidArgument for a function that cannot be, NotFound where the library
// has none of that name, Unimplemented where it calls one that is not there.
PANTO_EXPORT std::shared_ptr<const GraphFunction> parse_function_def(std::string_view bytes,
                                                                     const ImportOptions& options = {});
PANTO_EXPORT std::shared_ptr<const GraphFunction> parse_function_library(std::string_view bytes,
                                                                         const std::string& name,
                                                                         const ImportOptions& options = {});

}  // namespace panto
