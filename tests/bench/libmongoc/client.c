//! The client program of libmongoc, with the arguments, documents, tasks and output of marula_bench_shared::contract. Concurrent tasks are
//! threads, each with a client of the pool; --runtime is ignored.
#define _GNU_SOURCE
#include <errno.h>
#include <mongoc/mongoc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if MONGOC_CHECK_VERSION(2, 0, 0)
#define bson_append_array_begin bson_append_array_unsafe_begin
#endif

enum { MANY = 10000, LINES = 227, NOT_OFFERED = 3 };
static const char *const DATABASE = "bench";

// Small of marula_bench_shared::contract: an id, seven strings, six numbers.
typedef struct {
   bson_oid_t id;
   char *strings[7];
   int32_t numbers[6];
} small_t;

static const char *const STRINGS[] = {"customer", "category", "currency", "priority",
                                      "shipping", "campaign", "operator"};
static const char *const NUMBERS[] = {"quantity", "subtotal", "discount", "delivery", "position", "checksum"};

typedef struct {
   char article[9], category[9], supplier[9];
   int32_t quantity, subtotal, discount;
} line_t;

static struct {
   small_t one;
   line_t lines[LINES];
   small_t *many;
} material;

typedef struct thread thread_t;
typedef void (*operation_t)(thread_t *);

struct thread {
   pthread_t handle;
   mongoc_client_t *client;
   mongoc_collection_t *inserted, *one_small, *one_tweet, *many_small, *many_tweets, *watched;
   bson_t ping;
   operation_t operation;
   uint64_t count;
};

static void fail(const char *what, const char *why)
{
   fprintf(stderr, "%s: %s\n", what, why);
   exit(1);
}

// Prevents the compiler from removing the computation of the value.
static void use(const void *value)
{
   __asm__ volatile("" : : "r"(value) : "memory");
}

static void make_id(uint32_t number, bson_oid_t *id)
{
   uint8_t bytes[12] = {0x66, 0, 0, 0, 1, 2, 3, 4, number >> 24, number >> 16, number >> 8, number};
   bson_oid_init_from_data(id, bytes);
}

static void make_small(uint32_t number, small_t *small)
{
   static const char kinds[] = "ckepsmo";
   int32_t n = (int32_t) (number % 1000000);
   int32_t numbers[6] = {n % 17, n * 3, n % 5, n + 7, n, n * 31};
   make_id(number, &small->id);
   for (int i = 0; i < 7; i++) {
      small->strings[i] = bson_strdup_printf("%c%07u", kinds[i], number % 10000000);
   }
   memcpy(small->numbers, numbers, sizeof numbers);
}

static void make_lines(void)
{
   for (int32_t n = 0; n < LINES; n++) {
      line_t *line = &material.lines[n];
      snprintf(line->article, 9, "a%07d", n);
      snprintf(line->category, 9, "k%07d", n);
      snprintf(line->supplier, 9, "s%07d", n);
      line->quantity = n % 17;
      line->subtotal = n * 3;
      line->discount = n % 5;
   }
}

static void write_small(const small_t *small, bson_t *document)
{
   bson_append_oid(document, "_id", 3, &small->id);
   for (int i = 0; i < 7; i++) {
      bson_append_utf8(document, STRINGS[i], 8, small->strings[i], -1);
   }
   for (int i = 0; i < 6; i++) {
      bson_append_int32(document, NUMBERS[i], 8, small->numbers[i]);
   }
}

static void write_large(bson_t *document)
{
   bson_t lines, line;
   bson_append_oid(document, "_id", 3, &material.one.id);
   bson_append_array_begin(document, "lines", 5, &lines);
   for (uint32_t i = 0; i < LINES; i++) {
      const line_t *from = &material.lines[i];
      char buffer[16];
      const char *key;
      size_t length = bson_uint32_to_string(i, &key, buffer, sizeof buffer);
      bson_append_document_begin(&lines, key, (int) length, &line);
      bson_append_utf8(&line, "article", 7, from->article, -1);
      bson_append_utf8(&line, "category", 8, from->category, -1);
      bson_append_utf8(&line, "supplier", 8, from->supplier, -1);
      bson_append_int32(&line, "quantity", 8, from->quantity);
      bson_append_int32(&line, "subtotal", 8, from->subtotal);
      bson_append_int32(&line, "discount", 8, from->discount);
      bson_append_document_end(&lines, &line);
   }
   bson_append_array_end(document, &lines);
}

// Finds fields by name, in any order, and copies strings if `own`.
static void read_small(const bson_t *document, bool own)
{
   small_t small = {0};
   bson_iter_t iter;
   int found = 0;
   bson_iter_init(&iter, document);
   while (bson_iter_next(&iter)) {
      const char *key = bson_iter_key(&iter);
      if (BSON_ITER_HOLDS_OID(&iter) && strcmp(key, "_id") == 0) {
         bson_oid_copy(bson_iter_oid(&iter), &small.id);
         found++;
      } else if (BSON_ITER_HOLDS_UTF8(&iter)) {
         for (int i = 0; i < 7; i++) {
            if (strcmp(key, STRINGS[i]) == 0) {
               uint32_t length;
               const char *text = bson_iter_utf8(&iter, &length);
               if (!bson_utf8_validate(text, length, true)) {
                  fail("find", "a string is not UTF-8");
               }
               small.strings[i] = own ? bson_strndup(text, length) : (char *) text;
               found++;
               break;
            }
         }
      } else if (BSON_ITER_HOLDS_INT32(&iter)) {
         for (int i = 0; i < 6; i++) {
            if (strcmp(key, NUMBERS[i]) == 0) {
               small.numbers[i] = bson_iter_int32(&iter);
               found++;
               break;
            }
         }
      }
   }
   if (found != 14) {
      fail("find", "a field is missing");
   }
   use(&small);
   for (int i = 0; own && i < 7; i++) {
      bson_free(small.strings[i]);
   }
}

static void ping_reply(thread_t *thread, const bson_t *ping)
{
   bson_t reply;
   bson_error_t error;
   if (!mongoc_client_command_simple(thread->client, "admin", ping, NULL, &reply, &error)) {
      fail("ping", error.message);
   }
   use(&reply);
   bson_destroy(&reply);
}

static void ping(thread_t *thread)
{
   bson_t ping = BSON_INITIALIZER;
   BSON_APPEND_INT32(&ping, "ping", 1);
   ping_reply(thread, &ping);
   bson_destroy(&ping);
}

static void ping_raw(thread_t *thread)
{
   ping_reply(thread, &thread->ping);
}

static void insert(thread_t *thread, bson_t *document)
{
   bson_t reply;
   bson_error_t error;
   if (!mongoc_collection_insert_one(thread->inserted, document, NULL, &reply, &error)) {
      fail("insert", error.message);
   }
   use(&reply);
   bson_destroy(&reply);
   bson_destroy(document);
}

static void insert_one(thread_t *thread)
{
   bson_t document = BSON_INITIALIZER;
   write_small(&material.one, &document);
   insert(thread, &document);
}

static void insert_one_27k(thread_t *thread)
{
   bson_t document = BSON_INITIALIZER;
   write_large(&document);
   insert(thread, &document);
}

static void insert_many_10k(thread_t *thread)
{
   bson_t reply, *documents = bson_malloc(MANY * sizeof *documents);
   const bson_t **pointers = bson_malloc(MANY * sizeof *pointers);
   bson_error_t error;
   for (int i = 0; i < MANY; i++) {
      bson_init(&documents[i]);
      write_small(&material.many[i], &documents[i]);
      pointers[i] = &documents[i];
   }
   if (!mongoc_collection_insert_many(thread->inserted, pointers, MANY, NULL, &reply, &error)) {
      fail("insert", error.message);
   }
   use(&reply);
   bson_destroy(&reply);
   for (int i = 0; i < MANY; i++) {
      bson_destroy(&documents[i]);
   }
   bson_free(pointers);
   bson_free(documents);
}

enum reading { RAW, BORROWED, OWNED };

static void find(mongoc_collection_t *collection, bool one, enum reading reading)
{
   bson_t filter = BSON_INITIALIZER, options = BSON_INITIALIZER;
   const bson_t *document;
   bson_error_t error;
   int found = 0;
   if (one) {
      bson_oid_t id;
      make_id(0, &id);
      BSON_APPEND_OID(&filter, "_id", &id);
      BSON_APPEND_INT64(&options, "limit", 1);
      BSON_APPEND_BOOL(&options, "singleBatch", true);
   }
   mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(collection, &filter, &options, NULL);
   while (mongoc_cursor_next(cursor, &document)) {
      if (reading == RAW) {
         use(document);
      } else {
         read_small(document, reading == OWNED);
      }
      found++;
   }
   if (mongoc_cursor_error(cursor, &error)) {
      fail("find", error.message);
   }
   if (found != (one ? 1 : MANY)) {
      fail("find", "documents are missing");
   }
   mongoc_cursor_destroy(cursor);
   bson_destroy(&options);
   bson_destroy(&filter);
}

static void find_one(thread_t *thread) { find(thread->one_small, true, OWNED); }
static void find_one_raw_tweet(thread_t *thread) { find(thread->one_tweet, true, RAW); }
static void find_10k_owned(thread_t *thread) { find(thread->many_small, false, OWNED); }
static void find_10k_borrowed(thread_t *thread) { find(thread->many_small, false, BORROWED); }
static void find_10k_raw(thread_t *thread) { find(thread->many_small, false, RAW); }
static void find_10k_tweets_raw(thread_t *thread) { find(thread->many_tweets, false, RAW); }

static bool two_inserts(mongoc_client_session_t *session, void *context, bson_t **reply, bson_error_t *error)
{
   thread_t *thread = context;
   bson_t options = BSON_INITIALIZER;
   bool done = mongoc_client_session_append(session, &options, error);
   *reply = NULL;
   for (int i = 0; done && i < 2; i++) {
      bson_t document = BSON_INITIALIZER;
      write_small(&material.one, &document);
      done = mongoc_collection_insert_one(thread->inserted, &document, &options, NULL, error);
      bson_destroy(&document);
   }
   bson_destroy(&options);
   return done;
}

static void transaction_two_inserts(thread_t *thread)
{
   bson_t reply;
   bson_error_t error;
   mongoc_client_session_t *session = mongoc_client_start_session(thread->client, NULL, &error);
   if (session == NULL || !mongoc_client_session_with_transaction(session, two_inserts, NULL, thread, &reply, &error)) {
      fail("transaction", error.message);
   }
   use(&reply);
   bson_destroy(&reply);
   mongoc_client_session_destroy(session);
}

static void change_stream_10k(thread_t *thread)
{
   bson_t pipeline = BSON_INITIALIZER;
   const bson_t *event, *reply;
   bson_error_t error;
   mongoc_change_stream_t *changes = mongoc_collection_watch(thread->watched, &pipeline, NULL);
   for (int found = 0; found < MANY;) {
      bson_iter_t iter;
      bson_t document;
      if (mongoc_change_stream_next(changes, &event)) {
         const uint8_t *data;
         uint32_t length;
         if (!bson_iter_init_find(&iter, event, "fullDocument") || !BSON_ITER_HOLDS_DOCUMENT(&iter)) {
            fail("watch", "an event has no document");
         }
         bson_iter_document(&iter, &length, &data);
         if (!bson_init_static(&document, data, length)) {
            fail("watch", "a document is not valid");
         }
         read_small(&document, true);
         found++;
      } else if (mongoc_change_stream_error_document(changes, &error, &reply)) {
         fail("watch", error.message);
      }
   }
   mongoc_change_stream_destroy(changes);
   bson_destroy(&pipeline);
}

static const struct {
   const char *name;
   operation_t operation;
   uint64_t warm_up;
} TASKS[] = {
   {"ping", ping, 100},
   {"ping_raw", ping_raw, 100},
   {"insert_one", insert_one, 100},
   {"insert_one_27k", insert_one_27k, 100},
   {"find_one", find_one, 100},
   {"find_one_timeout", NULL, 100},
   {"find_one_raw_tweet", find_one_raw_tweet, 100},
   {"transaction_two_inserts", transaction_two_inserts, 100},
   {"find_10k_owned", find_10k_owned, 1},
   {"find_10k_borrowed", find_10k_borrowed, 1},
   {"find_10k_raw", find_10k_raw, 1},
   {"find_10k_tweets_document", NULL, 1},
   {"find_10k_tweets_raw", find_10k_tweets_raw, 1},
   {"insert_many_10k", insert_many_10k, 1},
   {"change_stream_10k", change_stream_10k, 1},
};

static void *work(void *argument)
{
   thread_t *thread = argument;
   for (uint64_t n = 0; n < thread->count; n++) {
      thread->operation(thread);
   }
   return NULL;
}

// Distributes the operations among the threads, and waits for all of them.
static void share(thread_t *threads, uint64_t tasks, uint64_t ops)
{
   for (uint64_t n = 0; n < tasks; n++) {
      threads[n].count = ops / tasks + (n < ops % tasks);
      if (pthread_create(&threads[n].handle, NULL, work, &threads[n]) != 0) {
         fail("thread", strerror(errno));
      }
   }
   for (uint64_t n = 0; n < tasks; n++) {
      pthread_join(threads[n].handle, NULL);
   }
}

static uint64_t now(clockid_t clock)
{
   struct timespec time;
   clock_gettime(clock, &time);
   return (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
}

static uint64_t peak_kib(void)
{
   char line[256];
   unsigned long peak = 0;
   FILE *status = fopen("/proc/self/status", "r");
   while (status != NULL && fgets(line, sizeof line, status) != NULL) {
      sscanf(line, "VmHWM: %lu", &peak);
   }
   if (status != NULL) {
      fclose(status);
   }
   return peak;
}

static void connect_thread(thread_t *thread, mongoc_client_pool_t *pool, operation_t operation)
{
   thread->operation = operation;
   thread->client = mongoc_client_pool_pop(pool);
   thread->inserted = mongoc_client_get_collection(thread->client, DATABASE, "inserted");
   thread->one_small = mongoc_client_get_collection(thread->client, DATABASE, "one_small");
   thread->one_tweet = mongoc_client_get_collection(thread->client, DATABASE, "one_tweet");
   thread->many_small = mongoc_client_get_collection(thread->client, DATABASE, "many_small");
   thread->many_tweets = mongoc_client_get_collection(thread->client, DATABASE, "many_tweets");
   thread->watched = mongoc_client_get_collection(thread->client, DATABASE, "watched");
   bson_init(&thread->ping);
   BSON_APPEND_INT32(&thread->ping, "ping", 1);
}

static const char *argument(int argc, char **argv, const char *name)
{
   for (int i = 1; i + 1 < argc; i += 2) {
      if (strcmp(argv[i], name) == 0) {
         return argv[i + 1];
      }
   }
   fprintf(stderr, "%s is missing\n", name);
   exit(2);
}

int main(int argc, char **argv)
{
   const char *name = argument(argc, argv, "--task");
   uint64_t tasks = strtoull(argument(argc, argv, "--tasks"), NULL, 10);
   uint64_t ops = strtoull(argument(argc, argv, "--ops"), NULL, 10);
   size_t task = 0;
   while (task < sizeof TASKS / sizeof *TASKS && strcmp(TASKS[task].name, name) != 0) {
      task++;
   }
   if (task == sizeof TASKS / sizeof *TASKS || tasks == 0 || ops == 0) {
      fprintf(stderr, "invalid arguments\n");
      return 2;
   }
   if (TASKS[task].operation == NULL) {
      return NOT_OFFERED;
   }
   mongoc_init();
   bson_error_t error;
   mongoc_uri_t *uri = mongoc_uri_new_with_error(argument(argc, argv, "--uri"), &error);
   if (uri == NULL) {
      fail("uri", error.message);
   }
   mongoc_client_pool_t *pool = mongoc_client_pool_new(uri);
   thread_t *threads = bson_malloc0(tasks * sizeof *threads);
   for (uint64_t n = 0; n < tasks; n++) {
      connect_thread(&threads[n], pool, TASKS[task].operation);
   }
   make_small(0, &material.one);
   make_lines();
   if (TASKS[task].operation == insert_many_10k) {
      material.many = bson_malloc(MANY * sizeof *material.many);
      for (uint32_t n = 0; n < MANY; n++) {
         make_small(n, &material.many[n]);
      }
   }
   share(threads, tasks, TASKS[task].warm_up * tasks);
   uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
   share(threads, tasks, ops);
   wall = now(CLOCK_MONOTONIC) - wall;
   cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
   printf("{\"ops\":%llu,\"wall_ns\":%llu,\"cpu_ns\":%llu,\"peak_kib\":%llu}\n",
          (unsigned long long) ops, (unsigned long long) wall, (unsigned long long) cpu,
          (unsigned long long) peak_kib());
   // The process exits here, so nothing is freed.
   fflush(stdout);
   _Exit(0);
}
