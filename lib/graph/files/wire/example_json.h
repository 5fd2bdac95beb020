// Example messages as JSON. Internal.
#pragma once

#include <string>

namespace panto {

// Serializes the message that the JSON describes, in protobuf's JSON form. Throws InvalidArgument for malformed JSON.
std::string example_from_json(const std::string& json);

}  // namespace panto
