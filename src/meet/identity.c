/* SPDX-License-Identifier: MIT */
/*
 * Identities of communicators: reading and writing one, making a new one, which starts to serve its
 * meeting, and deriving the one that all ranks of a job compute by themselves.
 */
#include "identity.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/fork_lock.h"
#include "door/greeting.h"
#include "choose/options.h"
#include "rendezvous.h"
#include "root.h"
#include "door/watcher.h"

int ring_identity_read(const struct ring_unique_id *id, struct ring_identity *identity)
{
	struct ring_wire wire = ring_wire_reader(id->bytes, sizeof(id->bytes));
	*identity = (struct ring_identity){0};
	ring_wire_identity(&wire, identity);
	return wire.ok ? 0 : RING_EINVAL;
}

void ring_identity_write(struct ring_identity *identity, struct ring_unique_id *id)
{
	*id = (struct ring_unique_id){{0}};
	struct ring_wire wire = ring_wire_writer(id->bytes, sizeof(id->bytes));
	ring_wire_identity(&wire, identity);
}

uint64_t ring_unique_id_job(const struct ring_unique_id *id)
{
	struct ring_identity identity;
	return ring_identity_read(id, &identity) ? 0 : identity.job;
}

RING_FORK_LOCK(noting)

#define USED_MAX 256
static uint64_t used[USED_MAX]; /* no job is 0, most likely */
static unsigned used_next;

void ring_identity_note_used(uint64_t job)
{
	noting_take();
	used[used_next++ % USED_MAX] = job;
	noting_give();
}

bool ring_identity_is_used(uint64_t job)
{
	bool found = false;
	noting_take();
	for (int i = 0; i < USED_MAX; i++)
		found = found || used[i] == job;
	noting_give();
	return found;
}

int ring_identity_serve(struct ring_identity *identity, const struct ring_config *config,
			const struct sockaddr_storage *towards, struct ring_failure *failure)
{
	struct ring_watcher *watcher;
	int err = ring_watcher_hold(&watcher, config, towards, failure);
	if (err)
		return err;
	*identity = (struct ring_identity){0};
	ring_random(&identity->job, sizeof(identity->job));
	ring_random(identity->secret, sizeof(identity->secret));
	err = ring_watcher_receive(watcher, config, towards, &identity->root, failure);
	if (!err)
		err = ring_root_start(watcher, identity, 0);
	if (err)
		ring_watcher_drop(watcher);
	return err;
}

int ring_unique_id_create(struct ring_unique_id *id)
{
	struct ring_failure failure = {0};
	struct ring_identity identity;
	struct ring_config config;
	if (!id)
		return ring_refuse(RING_EINVAL, "ring_unique_id_create: id is NULL");
	int err = ring_config_resolve(&config, NULL, &failure);
	if (!err)
		err = ring_identity_serve(&identity, &config, NULL, &failure);
	if (err) {
		ring_fail(&failure, err, "ring_unique_id_create: %s", ring_strerror(err));
		ring_failure_remember(&failure);
		return err;
	}
	ring_identity_write(&identity, id);
	return 0;
}

/* A keyed hash of the purpose and the facts, each with its NUL, so that different lists differ. */
static void hash_facts(const char *purpose, const unsigned char *key, size_t key_bytes,
		       const char *const facts[], int nfacts, unsigned char *hash, size_t hash_bytes)
{
	crypto_generichash_state state;
	crypto_generichash_init(&state, key, key_bytes, hash_bytes);
	crypto_generichash_update(&state, (const unsigned char *)purpose, strlen(purpose) + 1);
	for (int i = 0; i < nfacts; i++)
		crypto_generichash_update(&state, (const unsigned char *)facts[i],
					  strlen(facts[i]) + 1);
	crypto_generichash_final(&state, hash, hash_bytes);
}

/* Alike on hosts of either byte order. */
static uint64_t hash_job(const char *const facts[], int nfacts)
{
	unsigned char hash[16];
	uint64_t job;
	hash_facts("ringccl job", NULL, 0, facts, nfacts, hash, sizeof(hash));
	struct ring_wire wire = ring_wire_reader(hash, sizeof(job));
	ring_wire_u64(&wire, &job);
	return job;
}

void ring_identity_follow(struct ring_identity *identity, unsigned number)
{
	char job[24], text[16];
	const char *const facts[] = {job, text};
	unsigned char key[RING_SECRET_BYTES];
	identity->follows = true;
	if (number == 0)
		return;
	snprintf(job, sizeof(job), "%016llx", (unsigned long long)identity->job);
	snprintf(text, sizeof(text), "%u", number);
	memcpy(key, identity->secret, sizeof(key));
	hash_facts("ringccl secret", key, sizeof(key), facts, 2, identity->secret,
		   sizeof(identity->secret));
	identity->job = hash_job(facts, 2);
}

void ring_identity_derive(struct ring_identity *identity, const char *secret,
			  const char *const facts[], int nfacts)
{
	unsigned char key[32];
	*identity = (struct ring_identity){.derived = true};
	hash_facts("ringccl key", NULL, 0, &secret, 1, key, sizeof(key));
	hash_facts("ringccl secret", key, sizeof(key), facts, nfacts, identity->secret,
		   sizeof(identity->secret));
	identity->job = hash_job(facts, nfacts);
}
