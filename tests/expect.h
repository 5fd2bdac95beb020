// What tests say about errors: their code and their exact text.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "panto/lib/base/error.h"

namespace panto {

// The text of the Error that `body` throws, "<Code>: <message>"; a failure if it throws none.
template <class Body>
std::string error_text(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// `body` throws an Error with exactly this text.
template <class Body>
void expect_error(Body&& body, std::string_view text) {
  BOOST_TEST(error_text(body) == text);
}

// `body` throws an Error whose text begins so: for what ends with a file name or a source line.
template <class Body>
void expect_error_begins(Body&& body, std::string_view text) {
  const std::string got = error_text(body);
  BOOST_TEST(got.substr(0, text.size()) == text, "expected \"" << text << "\"..., got \"" << got << "\"");
}

}  // namespace panto
