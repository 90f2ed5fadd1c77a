/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mistakes, for BUG. Mistakes of posters: */
#define NO_TURN_CHECK 1     /* publish without waiting for the turn */
#define NO_SPACE 2          /* write WQEs without waiting for space */
#define SPACE_BY_ONE 3      /* wait for one WQEBB too few */
#define NO_EPOCH_CHECK 4    /* in the turn, publish what was written for an old path */
#define CAS_ANY_EPOCH 5     /* publish by compare-and-swap what was written for an old path */
#define OLD_SNAPSHOT 6      /* after a wait for space or a switch, continue with the old snapshot */
#define NO_TAGS 7           /* do not compare the tags of the snapshot */
#define TAGS_LATE 8         /* compare them after the WQEs are written */
#define NO_RESV_EPOCH 9     /* do not compare the epoch of the reservation word */
#define REUSE_EARLY 10      /* the host reuses queue memory at once */
/* Of the doorbell: */
#define RING_UNLOCKED 11    /* in the turn, ring without the lock although RUNG is clear */
#define ALWAYS_LEAVE 12     /* in the turn, leave the doorbell although no poster is behind */
#define LEAVE_SWAPPED 29    /* the same after a compare-and-swap */
#define FOLLOWED_BEFORE 25  /* look for that poster before the compare-and-swap, not after */
#define NOW_IGNORED 26      /* leave a doorbell that must be rung at once */
#define BATCH_IGNORED 27    /* leave a doorbell although a batch ends */
#define RUNG_AFTER_READY 13 /* clear RUNG, then store `rung` */
#define RUNG_NOT_STORED 14  /* clear RUNG without storing `rung` */
#define RUNG_STORED 34      /* store `rung` in the turn although RUNG is clear */
#define RUNG_KEPT 15        /* publish WQEBBs unrung, and leave RUNG set */
#define RUNG_FIRST 16       /* set RUNG, then ring */
#define DEFER_ALWAYS 17     /* defer although an earlier poster relies on the next one */
#define CAS_WITH_RUNG 18    /* clear RUNG by compare-and-swap, without storing `rung` */
#define LOCK_ANY 19         /* take the lock although `rung` has changed */
#define LINE_BEFORE_LOCK 20 /* ring on the path loaded before the lock */
#define READY_BEFORE_LOCK 21 /* ring up to the `ready` loaded before the lock */
#define RING_ONCE 28        /* return without ringing if another thread holds the lock */
#define WAIT_UNRUNG 22      /* wait for an index without checking that its doorbell was rung */
#define NEED_IGNORES_RUNG 23 /* a waiter compares `rung` although RUNG is set */
#define OLD_RUNG 24       /* a waiter loads `rung` before `ready` */
/* Of completion: */
#define STALE_NUMBER 30     /* wait by number without comparing the epoch */
#define EPOCH_THEN_CQE 31   /* compare the epoch before the CQE is read */
#define NO_OWNER 32         /* a CQE is valid whatever its owner bit */
#define NO_DONE_LOCK 33     /* read CQEs although another thread does */
#define QUEUE_BEFORE_LOCK 37 /* read the CQEs of the queue that was loaded before the lock */
#define USED_LATE 38        /* mark the channel as used after publishing */
/* Of the switch: */
#define NO_TURN 40          /* a waiter switches without the turn, under both locks */
#define NO_RING_LOCK 41     /* switch without the lock of `rung` */
#define NO_CQ_LOCK 42       /* switch without the lock of `done` */
#define CQES_UNREAD 43      /* switch without reading the CQEs that have arrived */
#define BASE_READY 44       /* the new path begins at `ready` */
#define REISSUE_ALL 45      /* re-issue executed requests */
#define READ_REPLACED 46    /* replace executed READs without a response */
#define NOT_TOLD 47         /* replace executed FETCHes without reporting it */
#define NOPS_COUNTED 48     /* number requests as if NOPs were requests */
#define NOT_RUNG 49         /* do not ring after the switch */
#define EPOCH_FIRST 50      /* publish the epoch before the line */
#define CQES_KEPT 51        /* continue with the old queue's numbers of CQEs */
#define RUNG_OLD 52         /* set RUNG, and do not change `rung` */
#define BLOCKED_BLIND 53    /* a poster that waits for space does not check for an order */
#define NO_HELP 54          /* waiters do not check for an order */
#define FROM_ACKNOWLEDGED 55 /* executed = acknowledged */
#define NOT_FENCED 56       /* the host does not fence the responder */
#define NOT_DRAINED 57      /* the host does not wait for the CQEs of the old path */
#define NO_ACKNOWLEDGE 58   /* the host gives the next order before the last is carried out */
#define HELP_UNSEEN 59      /* a helper does not advance the epoch of the reservation word first */
#define UNLOCK_LATE 60      /* unlock `rung` after the new epoch is published */
#define HELP_ADDS 61        /* a helper adds the epoch to the reservation word without a compare-and-swap */
/* Of publishing: */
#define READY_OLD_EPOCH 62  /* store `ready` with the epoch of the reservation */
#define CAS_NO_FLUSH 63     /* publish by compare-and-swap without storing `flush` */
/* Of the hosts: */
#define NO_STOP 70          /* the responder does not move its queue pair to ERR */
#define NO_DRAIN 71         /* the requester does not wait for its CQEs */
#define NO_FLUSH 72         /* the responder does not flush what it has accepted */
#define ONE_FENCED 73       /* an end goes on before the other is fenced */
#define NOT_OPEN 74         /* ordered before the responder's end is connected */
#define SKIPPED_COUNTS 75   /* the executed requests are those of a path that the device has not used */
#define OVERLAP 76          /* ordered before the order before is carried out */
#define FENCE_UNSENT 77     /* the peer is not informed of a fault */
#define UNANSWERED 78       /* FENCE has no answer while an endpoint is prepared */
#define OFFER_KEPT 79       /* connect to the endpoint offered for an earlier path */
