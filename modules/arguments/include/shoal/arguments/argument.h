// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One argument of a command: a flag with a value ("--days 3"), a switch ("--quiet") or a word in its place ("DIR").
#include <string>
#include <utility>
#include <vector>

#include "shoal/arguments/readers.h"

namespace shoal::arguments {

/// Command::add() makes objects of this class. Each function returns the object itself.
class Argument {
 public:
  /// The help shows the argument under this heading. An argument without a heading stands above all headings.
  Argument& group(std::string heading) { return set(group_, std::move(heading)); }
  /// The help shows this word for the value, as "FILE". Default: INT, NUMBER or TEXT, and nothing for a word in its place.
  Argument& type(std::string shown) { return set(type_, std::move(shown)); }
  /// The help shows this text as the default.
  Argument& shows(std::string otherwise) { return set(otherwise_, std::move(otherwise)); }
  /// As shows(), with the value that the variable had when it was added.
  Argument& shows_default() { return shows(current_); }
  /// A flag that is not given takes its value from this environment variable.
  Argument& variable(std::string name) { return set(variable_, std::move(name)); }
  /// The value is the path of a file or folder, so that the empty text is refused. For a flag, the help shows `kind`: FILE or
  /// FOLDER.
  Argument& path(std::string kind) {
    if (is_flag()) type(std::move(kind));
    return check(check_path_is_given);
  }
  /// Adds a function that refuses wrong texts. Such functions are called in the order in which they were added.
  Argument& check(Take check) { return checks_.push_back(std::move(check)), *this; }
  Argument& required() { return set(required_, true); }
  Argument& hidden() { return set(hidden_, true); }  ///< The help leaves the argument out.
  /// The name of a flag ("--cluster") beside which this one is refused. Here, and for needs(), a switch that is turned off
  /// ("--live=false") counts as not given.
  Argument& excludes(std::string name) { return excludes_.push_back(std::move(name)), *this; }
  /// The name of a flag without which this one is refused.
  Argument& needs(std::string name) { return needs_.push_back(std::move(name)), *this; }

 private:
  friend class Command;

  template <class T>
  Argument& set(T& member, T value) {
    member = std::move(value);
    return *this;
  }
  bool is_flag() const { return !long_.empty() || !short_.empty(); }
  /// True if the argument is given; of a switch, if it is then on.
  bool is_in_effect() const { return !texts_.empty() && (!is_switch_ || texts_.back() == "true"); }
  std::string shown_name() const { return !long_.empty() ? "--" + long_ : is_flag() ? "-" + short_ : place_; }

  std::string long_, short_, place_;  // "days", "d", or "DIR" for a word in its place.
  std::string off_;                   // A second long name of a switch, which turns off.
  std::string group_, type_, help_, otherwise_, current_, variable_;
  std::vector<std::string> excludes_, needs_;  // With their dashes.
  std::vector<Take> checks_;
  Take take_;
  bool is_switch_ = false, repeats_ = false, required_ = false, hidden_ = false;

  std::vector<std::string> texts_;  // As given; those of a switch are "true" or "false".
  bool from_variable_ = false;
};

}  // namespace shoal::arguments
