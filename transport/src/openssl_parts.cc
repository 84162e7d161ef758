// SPDX-License-Identifier: Apache-2.0
// In a static program these definitions replace parts of Debian's libcrypto that Shoal never uses and that would be a tenth
// of the program: certificates compressed by zstd, with that library, and tables for one curve. They return what OpenSSL's
// own sources return if OpenSSL is configured without zstd, and with the arithmetic that other curves use.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bio.h>
#include <openssl/comp.h>
#include <openssl/ec.h>

extern "C" {
COMP_METHOD* COMP_zstd() { return nullptr; }
COMP_METHOD* COMP_zstd_oneshot() { return nullptr; }
const BIO_METHOD* BIO_f_zstd() { return nullptr; }
void ossl_comp_zstd_cleanup() {}
const EC_METHOD* EC_GFp_sm2p256_method() { return EC_GFp_mont_method(); }
}
