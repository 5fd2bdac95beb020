// Functions as TensorFlow's FunctionDefs, single or in a library.
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

// Serializes a FunctionDef. Throws InvalidArgument for a function that calls others: use a library for these.
PANTO_EXPORT std::string to_function_def(const std::shared_ptr<const GraphFunction>& function);
// Serializes a FunctionDefLibrary with the function and all functions that it calls. Deterministic.
PANTO_EXPORT std::string to_function_library(const std::shared_ptr<const GraphFunction>& function);

// Throws DataLoss for malformed bytes, InvalidArgument for an invalid function, NotFound if the library has no function
// of that name, Unimplemented if it calls a function that is missing.
PANTO_EXPORT std::shared_ptr<const GraphFunction> parse_function_def(std::string_view bytes,
                                                                     const ImportOptions& options = {});
PANTO_EXPORT std::shared_ptr<const GraphFunction> parse_function_library(std::string_view bytes,
                                                                         const std::string& name,
                                                                         const ImportOptions& options = {});

}  // namespace panto
