/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mistakes, for BUG. Mistakes of posters: */
#define NO_TURN_CHECK 1     /* publish without waiting for the turn */
#define NO_SPACE 2          /* write WQEs without waiting for space */
#define SPACE_BY_ONE 3      /* wait for one WQEBB too few */
#define NO_EPOCH_CHECK 4    /* publish what was written for an old path */
#define PUBLISH_EARLY 5     /* publish, then compare the epoch */
#define OLD_SNAPSHOT 6      /* after a wait for space or a switch, continue with the old snapshot */
#define NO_TAGS 7           /* do not compare the tags of the snapshot */
#define TAGS_LATE 8         /* compare them after the WQEs are written */
#define NO_RESV_EPOCH 9     /* do not compare the epoch of the reservation word */
#define REUSE_EARLY 10      /* the host reuses queue memory at once */
/* Of the doorbell: */
#define RING_UNLOCKED 11    /* in the turn, ring without the lock although RUNG is clear */
#define ALWAYS_LEAVE 12     /* a poster that waited for the turn never rings */
#define RUNG_AFTER_READY 13 /* clear RUNG, then store `rung` */
#define RUNG_NOT_STORED 14  /* clear RUNG without storing `rung` */
#define RUNG_KEPT 15        /* publish WQEBBs unrung, and leave RUNG set */
#define RUNG_FIRST 16       /* set RUNG, then ring */
#define DEFER_ALWAYS 17     /* defer although an earlier poster relies on the next one */
#define DEFER_MARKED 18     /* defer for marked reservations that did not ask to */
#define LOCK_ANY 19         /* a waiter takes the lock although `rung` has changed */
#define LINE_BEFORE_LOCK 20 /* a waiter rings on the path loaded before the lock */
#define READY_BEFORE_LOCK 21 /* ... or up to the `ready` loaded before the lock */
#define WAIT_UNRUNG 22      /* wait for an index without checking that its doorbell was rung */
#define NEED_IGNORES_RUNG 23 /* a waiter compares `rung` although RUNG is set */
/* Of marks: */
#define MARK_OLD_EPOCH 24   /* take marks of another epoch */
#define MARK_EARLY 25       /* mark before the WQEs are written */
#define MARK_NO_FIRST 26    /* do not compare the mark's index */
#define MARK_KEPT 27        /* do not clear the mark */
#define MARK_ONE_CQE 28     /* count one CQE for all reservations published at once */
/* Of completion: */
#define STALE_NUMBER 30     /* do not compare the epoch after the CQE was found */
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
#define NOW_IGNORED 63      /* marks that ask to be rung now count as others */
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
