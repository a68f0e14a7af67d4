/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ALLOCFILT_ACCOUNT_FORMS_H
#define ALLOCFILT_ACCOUNT_FORMS_H

#include "allocfilt/account/account.h"

/** account_text, account_json - the tables in that form; a failure stays in the writer */
void account_text(struct writer *writer, const struct summary_view *view,
		  const struct account_tables *tables);
void account_json(struct writer *writer, const struct summary_view *view,
		  const struct account_tables *tables);

/** account_event - the name of the kernel's event that counts the call site */
const char *account_event(const struct account_site *site);

#endif
