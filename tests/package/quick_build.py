# SPDX-License-Identifier: Apache-2.0
"""How a test builds Shoal as part of another project where only that it builds matters: OPTIONS of CMake."""

# No optimisation, and none of the parts that can be left out. Most of the time is then reading headers, so that the unity build
# has large batches.
LEFT_OUT = ("ONEDNN", "AVX512", "SHM", "TCP", "TLS", "CONVERT", "METRICS", "DATA_COMMANDS", "EXPERIMENTS")
OPTIONS = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=40",
           *(f"-DSHOAL_{part}=OFF" for part in LEFT_OUT))
