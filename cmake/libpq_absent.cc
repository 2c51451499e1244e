// SPDX-License-Identifier: Apache-2.0
// Kerberos and LDAP for a static libpq: they are not there. Asked for credentials they have none,
// so libpq goes on without them; a database that insists on Kerberos, or a service file that names
// an LDAP server, is an error. Only the beginnings of either are ever called.
#include <cstddef>
#include <cstdint>

namespace {

constexpr std::uint32_t kGssComplete = 0;
constexpr std::uint32_t kGssFailure = 13U << 16;
constexpr int kLdapOther = 0x50;
char kReason[] = "this program has no Kerberos";

struct GssBuffer {
  std::size_t length;
  void* value;
};

}  // namespace

extern "C" {

void* GSS_C_NT_HOSTBASED_SERVICE = nullptr;

std::uint32_t gss_acquire_cred() { return kGssFailure; }
std::uint32_t gss_import_name() { return kGssFailure; }
std::uint32_t gss_init_sec_context() { return kGssFailure; }
std::uint32_t gss_unwrap() { return kGssFailure; }
std::uint32_t gss_wrap() { return kGssFailure; }
std::uint32_t gss_wrap_size_limit() { return kGssFailure; }
std::uint32_t gss_delete_sec_context() { return kGssComplete; }
std::uint32_t gss_release_buffer() { return kGssComplete; }
std::uint32_t gss_release_cred() { return kGssComplete; }
std::uint32_t gss_release_name() { return kGssComplete; }
std::uint32_t gss_display_status(std::uint32_t*, std::uint32_t, int, void*, std::uint32_t* more,
                                 GssBuffer* text) {
  *more = 0;
  *text = {sizeof kReason - 1, kReason};
  return kGssComplete;
}

void* ldap_init() { return nullptr; }
int ldap_set_option() { return kLdapOther; }
int ldap_simple_bind() { return -1; }
int ldap_result() { return -1; }
int ldap_search_st() { return kLdapOther; }
int ldap_unbind() { return kLdapOther; }
int ldap_msgfree() { return 0; }
int ldap_count_entries() { return -1; }
void* ldap_first_entry() { return nullptr; }
void* ldap_get_values_len() { return nullptr; }
void ldap_value_free_len() {}
const char* ldap_err2string() { return "this program has no LDAP"; }
}
