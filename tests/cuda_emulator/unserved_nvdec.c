/* SPDX-License-Identifier: BSD-2-Clause */
#include "unserved.h"

UNSERVED(cuvidGetDecodeStatus)
UNSERVED(cuvidReconfigureDecoder)
UNSERVED(cuvidCtxLockCreate)
UNSERVED(cuvidCtxLockDestroy)
UNSERVED(cuvidCtxLock)
UNSERVED(cuvidCtxUnlock)
UNSERVED(cuvidCreateVideoSource)
UNSERVED(cuvidCreateVideoSourceW)
UNSERVED(cuvidDestroyVideoSource)
UNSERVED(cuvidSetVideoSourceState)
UNSERVED(cuvidGetVideoSourceState)
UNSERVED(cuvidGetSourceVideoFormat)
UNSERVED(cuvidGetSourceAudioFormat)
UNSERVED(cuvidCreateVideoParser)
UNSERVED(cuvidParseVideoData)
UNSERVED(cuvidDestroyVideoParser)
