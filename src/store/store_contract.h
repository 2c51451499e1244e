// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole contract of Store, as sentences. A kind of store runs it with
//
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreTest, testing::Values(StoreMaker(...)));
#include "store/access_contract.h"
#include "store/blame_contract.h"
#include "store/exchange_contract.h"
#include "store/jobs_contract.h"
#include "store/ledger_contract.h"
#include "store/loss_contract.h"
#include "store/machines_contract.h"
#include "store/pass_contract.h"
#include "store/reads_contract.h"
#include "store/retry_contract.h"
#include "store/settings_contract.h"
#include "store/settle_contract.h"
#include "store/standing_contract.h"
#include "store/stream_contract.h"
#include "store/trial_contract.h"
#include "store/worn_contract.h"
