// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Draws figures on the terminal, once or repeatedly.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "plot/terminal_figure.h"

namespace shoal::cli::plot {

/// The size that the user chose, in characters.
struct ChosenSize {
  std::optional<int> columns, rows;
};

/// Returns the style for standard output: a terminal's width and colours, or 80 columns elsewhere.
TerminalStyle output_style(const Context& context, const ChosenSize& chosen);

/// A figure of runs that may still continue.
struct Look {
  Figure figure;
  bool ended = false;  ///< True if all runs have ended.
};

/// Draws the figure that `look` returns, twice a second and over the previous drawing, until Look::ended is true or the
/// user presses Ctrl-C. The last figure stays on the screen. If the figure is too high, the last line says so.
/// FailedPrecondition if standard output is not a terminal that can rewrite its lines; also the errors of `look`.
Result<void> follow(Context& context, const ChosenSize& chosen, const std::function<Result<Look>()>& look);

}  // namespace shoal::cli::plot
