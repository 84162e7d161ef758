// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Declares std::function without the rest of <functional>.
///
/// libstdc++'s <functional> also includes std::unordered_map, std::array and the searchers of <algorithm>: 11 of the 179 MB
/// of memory that g++ 12 takes for including Shoal (docs/decisions/light-headers.md). std::function has a header of its own
/// in libstdc++. Public headers include this file; sources, which need no such care, include <functional>.
#include <utility>  // Defines __GLIBCXX__ if the library is libstdc++.

#if defined(__GLIBCXX__) && __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
