// Messages as text: protobuf's own form, with our limits and errors. Internal (protobuf).
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

namespace panto {

inline constexpr int kMaxProtoNesting = 100;

// `what` names the message in errors ("GraphDef"). Throws DataLoss with line and column of the first fault.
void parse_proto_text(std::string_view text, std::string_view what, google::protobuf::Message& message);
std::string proto_text(const google::protobuf::Message& message);

}  // namespace panto
