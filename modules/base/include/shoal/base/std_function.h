// SPDX-License-Identifier: Apache-2.0
#pragma once
/// This header declares std::function without the rest of <functional>.
///
/// libstdc++'s <functional> brings std::unordered_map, std::array and the searchers of <algorithm> along: 11 MB of the memory that
/// g++ 12 takes for including Shoal, which is 179 MB (docs/decisions/light-headers.md). std::function has a header of its own there.
/// Public headers include this one; sources, which need no such care, include <functional>.
#include <utility>  // Defines __GLIBCXX__, where this is libstdc++.

#if defined(__GLIBCXX__) && __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
