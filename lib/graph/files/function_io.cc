#include "panto/lib/graph/files/function_io.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/files/function_writer.h"
#include "panto/lib/graph/files/functions.h"

namespace panto {

namespace {

// Serializes with maps sorted by key.
std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

graphdef::FunctionDefLibrary library_of(const std::shared_ptr<const GraphFunction>& function) {
  graphdef::FunctionDefLibrary library;
  const ExportOptions options;
  FunctionWriter(options, &library).name_of({.name = function->name(), .body = function});
  return library;
}

std::shared_ptr<const GraphFunction> function_in(const graphdef::FunctionDefLibrary& library, const std::string& name,
                                                 const ImportOptions& options) {
  const auto functions = std::make_shared<FileFunctions>(library, graphdef::VersionDef(), options);
  if (!functions->has(name)) {
    failf(Code::kNotFound, "function: expected one of the library, got '{}'", printable(name));
  }
  graphdef::NameAttrList asked;
  asked.set_name(name);
  return graph_function(functions->reference(asked));
}

}  // namespace

std::string to_function_def(const std::shared_ptr<const GraphFunction>& function) {
  const graphdef::FunctionDefLibrary library = library_of(function);
  if (library.function_size() != 1) {
    invalid("function '{}': expected one that calls no others, got one that calls {} (to_function_library writes all)",
            function->name(), library.function_size() - 1);
  }
  return bytes_of(library.function(0));
}

std::string to_function_library(const std::shared_ptr<const GraphFunction>& function) {
  return bytes_of(library_of(function));
}

std::shared_ptr<const GraphFunction> parse_function_def(std::string_view bytes, const ImportOptions& options) {
  graphdef::FunctionDefLibrary library;
  if (!library.add_function()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(Code::kDataLoss, "function: expected the bytes of a FunctionDef, got others");
  }
  return function_in(library, library.function(0).signature().name(), options);
}

std::shared_ptr<const GraphFunction> parse_function_library(std::string_view bytes, const std::string& name,
                                                            const ImportOptions& options) {
  graphdef::FunctionDefLibrary library;
  if (!library.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(Code::kDataLoss, "functions: expected the bytes of a FunctionDefLibrary, got others");
  }
  return function_in(library, name, options);
}

}  // namespace panto
