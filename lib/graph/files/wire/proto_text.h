// Protobuf's binary and text forms of messages, with the library's limits and errors. Internal (protobuf).
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace panto {

inline constexpr int kMaxProtoNesting = 100;

// False unless the bytes are exactly one such message.
bool parse_proto(std::string_view bytes, google::protobuf::Message& message);

// `what` names the message in errors ("GraphDef"). Throws DataLoss with line and column of the first fault.
void parse_proto_text(std::string_view text, std::string_view what, google::protobuf::Message& message);
std::string proto_text(const google::protobuf::Message& message);

}  // namespace panto
