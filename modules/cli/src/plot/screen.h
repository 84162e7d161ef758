// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The terminal that figures are drawn on, once or again and again.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "plot/terminal_figure.h"

namespace shoal::cli::plot {

/// What the user chose, in characters.
struct ChosenSize {
  std::optional<int> columns, rows;
};

/// How figures are drawn on standard output: in its width and with colours where it is a terminal, in 80 columns elsewhere.
TerminalStyle output_style(const Context& context, const ChosenSize& chosen);

/// One look at what is followed.
struct Look {
  Figure figure;
  bool ended = false;  ///< Nothing more will come.
};

/// Draws what `look` gives twice a second, each time over what was drawn before, until it has ended or somebody presses Ctrl-C; the last
/// figure stays. What does not fit into the terminal's height is left out, with a word. FailedPrecondition if standard output is no
/// terminal that can go back in its lines; otherwise the errors of `look`.
Result<void> follow(Context& context, const ChosenSize& chosen, const std::function<Result<Look>()>& look);

}  // namespace shoal::cli::plot
