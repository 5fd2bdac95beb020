// What the generated test cases of lines of habit share.
#pragma once

#include <any>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <iostream>
#include <string>

#include "panto/panto.h"
#include "panto/repl.h"

namespace panto::test {

// The text that f gives, or the message of the Error that it throws, is `expected`. Of messages only the beginning is
// compared: they end with source lines.
template <class F>
void check_habit(F f, const std::string& expected, int line) {
  BOOST_TEST_CONTEXT("line " << line) {
    std::string got;
    try {
      got = f();
    } catch (const Error& error) {
      got = std::string(error.what()).substr(0, expected.size());
    }
    BOOST_TEST(got == expected);
  }
}

}  // namespace panto::test

using panto::test::check_habit;
